package trace

import (
	"fmt"
	"net/http"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// What is the change of an object to explain.
type What string

// The changes. The zero value stands for Created or, if that is not recorded, Changed.
const (
	Created What = "created"
	Changed What = "changed"
	Deleted What = "deleted"
)

// Chain is the chain of causes of a change.
type Chain struct {
	About observe.Object `json:"about"`
	What  What           `json:"what"`
	Start time.Time      `json:"start"`
	Took  time.Duration  `json:"tookNanos"`
	// Links begins with the change to explain. Each link is followed by its cause.
	Links []*Node `json:"links"`
	// Complete is set if the last link has no cause in the control plane: a write from
	// outside, or an object that existed before.
	Complete bool   `json:"complete"`
	Missed   uint64 `json:"missed,omitempty"`

	all bool // the text leaves nothing out
}

// Why traces a change of an object back to its causes. Records are in order of Seq.
func Why(records []observe.Record, about observe.Object, o Options) (*Chain, error) {
	about = *canonicalObject(about)
	g := newGraph(records, about, o.All)
	g.breakCycles()
	last := map[What]*Node{}
	touched := false
	for _, n := range g.nodes {
		if n.Object == nil || !n.isAbout(about) {
			continue
		}
		touched = true
		if w := n.writeEffect(about); w != "" {
			last[w] = n
		}
	}
	if !touched {
		return nil, noRecordsError(about, o)
	}
	what := o.What
	if what == "" {
		what = Created
		if last[what] == nil {
			what = Changed
		}
	}
	n := last[what]
	if n == nil {
		return nil, fmt.Errorf("%s: no record that it was %s since the last start of the control plane%s", about, what, missedNote(o.Missed))
	}
	return newChain(about, what, n, o), nil
}

func missedNote(missed uint64) string {
	if missed == 0 {
		return ""
	}
	return fmt.Sprintf(" (dropped %s)", words.Count(missed, "older record"))
}

// writeEffect returns what a write did to an object, "" for a failed one and for other
// nodes.
func (n *Node) writeEffect(about observe.Object) What {
	if !n.isWrite() || n.failed() {
		return ""
	}
	deleted, wrote := n.wroteTo(about)
	switch {
	case deleted, n.Gone && !wrote:
		return Deleted
	case n.Verb == "list":
		return ""
	case n.creates():
		return Created
	case !wrote && n.Verb == "delete" && n.Subresource == "" && n.ResourceVersion == "":
		return Deleted
	}
	return Changed
}

// creates reports whether n is a write that creates its object: with server-side apply, a
// patch that the API server answers with 201.
func (n *Node) creates() bool {
	return n.Subresource == "" && (n.Verb == "create" || n.Verb == "patch" && n.Status == http.StatusCreated)
}

// wroteTo reports whether the storage reports that a call has written an object, and
// whether it has removed it.
func (n *Node) wroteTo(about observe.Object) (deleted, wrote bool) {
	for _, w := range n.wrote {
		if placeOfWritten(w) == placeOf(&about) {
			deleted, wrote = deleted || w.Deleted, true
		}
	}
	return deleted, wrote
}

func newChain(about observe.Object, what What, n *Node, o Options) *Chain {
	c := &Chain{About: about, What: what, Missed: o.Missed, all: o.All}
	end := n.End()
	for ; n != nil; n = n.parent {
		c.Links = append(c.Links, n)
	}
	first := c.Links[len(c.Links)-1]
	c.Complete = first.isOutside() && first.cause == 0
	c.Start, c.Took = first.Time, end.Sub(first.Time)
	for _, n := range c.Links {
		n.After = n.Time.Sub(c.Start)
	}
	return c
}

// Tree returns the chain as a tree with one branch.
func (c *Chain) Tree() *Tree {
	t := &Tree{About: c.About, Start: c.Start, Took: c.Took, Missed: c.Missed}
	var below []*Node
	for _, n := range c.Links {
		n := *n
		n.Children = below
		below = []*Node{&n}
	}
	t.Roots = below
	return t
}
