package trace

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// What is the change of an object to explain.
type What string

// The changes. The zero value stands for the first of them that is recorded. Refused is the
// last write that the API server has refused, except for a conflict of a controller. Failed is the last one
// whose outcome is not known, as after a timeout, or that was not tried, as under load.
const (
	Created What = "created"
	Changed What = "changed"
	Deleted What = "deleted"
	Refused What = "refused"
	Failed  What = "failed"
)

// ParseWhat returns the change that a string names; the zero value for "".
func ParseWhat(s string) (What, error) {
	names := []What{"", Created, Changed, Deleted, Refused, Failed}
	if !slices.Contains(names, What(s)) {
		return "", fmt.Errorf("%q is not a change of an object: use one of %q", s, names[1:])
	}
	return What(s), nil
}

// Chain is the chain of causes of a change.
type Chain struct {
	About observe.Object `json:"about"`
	What  What           `json:"what"`
	Start time.Time      `json:"start"`
	Took  time.Duration  `json:"tookNanos"`
	// Links begins with the change to explain. Each link is followed by its cause.
	Links []*Node `json:"links"`
	// Complete is set if the last link has no cause in the control plane: a write from
	// outside, or an object that existed before. It is not set for a write of a client that
	// may have reacted to an event.
	Complete bool `json:"complete"`
	// Since has what else has happened to the object and may matter more: its deletion, its
	// creation after a deletion, a write of a client that was refused or failed, the removal if
	// Links begins with the delete that has only marked it, and a later write of a sync without a
	// recorded end.
	Since  []*Node `json:"since,omitempty"`
	Missed uint64  `json:"missed,omitempty"`
	// Recorded has those of Created, Changed and Deleted that are recorded and can be explained.
	Recorded []What `json:"recorded,omitempty"`
	// Now is what is wrong with the object at present, as "ctrlplane wait" says it.
	Now string `json:"now,omitempty"`
	// Failing says which controllers fail for the object at present, one sentence each.
	Failing []string `json:"failing,omitempty"`
	// Working says which controllers work for the object at present, or have yet to, one sentence each.
	Working []string `json:"working,omitempty"`

	all             bool                     // the text leaves nothing out
	whyDeleted      string                   // as Options.WhyDeleted
	whyChanged      string                   // as Options.WhyChanged
	whyNext         string                   // as Options.WhyNext
	quoted          *observe.KubernetesEvent // which the client that deletes the object wrote about it just before
	refused         []*Node                  // evictions of the Pod that a PodDisruptionBudget did not allow before it was evicted
	held            bool                     // the object is marked as deleted, and nothing has removed it
	userChanges     []*Node                  // as addUserChanges has found
	laterChange     *Node                    // the last one of more than the status after them, by another one, unless Links or Since explain it
	onlyStatusSince bool                     // Links have changed only the status since userChanges and laterChange
	regular         *regularWrites           // of which the last link is one
	ignored         []*Node                  // events of the last change, if a user has made it
	failedEffects   []*failedEffect          // which Failing has in words
	completeAfter   uint64                   // as Options.CompleteAfter
}

// Why traces a change of an object back to its causes. Records are in order of Seq.
func Why(records []observe.Record, about observe.Object, o Options) (*Chain, error) {
	g := newGraph(records, about, o)
	mine := slices.DeleteFunc(slices.Clone(g.nodes), func(n *Node) bool { return n.Object == nil || !n.isAbout(about) })
	if len(mine) == 0 {
		return nil, noRecordsError(about, o)
	}
	mine = inStoredOrder(mine, about)
	recorded := slices.DeleteFunc(slices.Clone(mine), func(n *Node) bool { return n.isRecordedSoon(o.recordedUntil()) })
	if c, err := g.why(recorded, records, about, o); err == nil || len(recorded) == len(mine) {
		return c, err
	}
	return g.why(mine, records, about, o)
}

// why is Why with the nodes about the object.
func (g *graph) why(mine []*Node, records []observe.Record, about observe.Object, o Options) (*Chain, error) {
	last := newLastWrites(mine, about)
	what := cmp.Or(o.What, last.firstRecorded())
	n := toExplain(g.nodes, last, what, about)
	recorded := g.explainable(last, about)
	last.forgetMadeUp(mine, about)
	if n == nil {
		return nil, newUnknownChangeError(about, what, records, last, o)
	}
	c := newChain(about, what, n, o)
	c.Recorded = recorded
	c.regular = g.regularWritesUpTo(c.Links[len(c.Links)-1])
	c.quoteReason(records)
	c.addRefusedEvictions(mine)
	c.addSince(last)
	c.addUserChanges(userChanges(mine, about))
	if n := lastChange(mine, about); n != nil && (what == Created || what == Changed) {
		c.ignored = g.ignoredEvents(n, o)
	}
	if o.What == "" || what == Created || what == Changed {
		c.addFailedEffects(g.failedEffects(about, o.State))
	}
	p := c.phrases()
	c.Failing = slices.Clone(c.Failing)
	for _, f := range c.failedEffects {
		c.Failing = append(c.Failing, p.describeFailedEffect(f, o.State.Time))
	}
	return c, nil
}

// Next returns the recorded change that comes after the explained one, in a circle; "" without another one.
func (c *Chain) Next() What {
	at := slices.Index(c.Recorded, c.What)
	if len(c.Recorded) == 0 || len(c.Recorded) == 1 && at == 0 {
		return ""
	}
	return c.Recorded[(at+1)%len(c.Recorded)]
}

// CausedBy returns the last other object because of which the explained change was made; nil if none is in the chain.
func (c *Chain) CausedBy() *observe.Object {
	for _, n := range c.Links {
		if n.Object != nil && !n.isAbout(c.About) {
			return n.Object
		}
	}
	return nil
}

// explainable returns the changes other than refused and failed ones that can be explained.
func (g *graph) explainable(last *lastWrites, about observe.Object) []What {
	return slices.DeleteFunc([]What{Created, Changed, Deleted}, func(w What) bool { return toExplain(g.nodes, last, w, about) == nil })
}

// inStoredOrder returns the nodes about an object, which are in the order in which they began, in that of the
// versions that they have stored, as far as the storage reports these: a write may be held, or wait for a
// webhook, while others overtake it.
func inStoredOrder(nodes []*Node, about observe.Object) []*Node {
	stored := slices.DeleteFunc(slices.Clone(nodes), func(n *Node) bool { return n.storedVersion(about) == 0 })
	slices.SortStableFunc(stored, func(a, b *Node) int { return cmp.Compare(a.storedVersion(about), b.storedVersion(about)) })
	ordered := slices.Clone(nodes)
	for i, n := range ordered {
		if n.storedVersion(about) != 0 {
			ordered[i], stored = stored[0], stored[1:]
		}
	}
	return ordered
}

// storedVersion returns the last version of an object that the storage reports for n; 0 if there is none.
func (n *Node) storedVersion(about observe.Object) (version uint64) {
	for _, w := range n.wrote {
		if placeOfWritten(w) == placeOf(&about) {
			version = max(version, observe.VersionNumber(w.ResourceVersion))
		}
	}
	return version
}

// addSince adds the last changes of other kinds that are later than the explained one.
func (c *Chain) addSince(last *lastWrites) {
	shown := c.Links[0]
	for _, w := range []What{Created, Deleted, Refused, Failed} {
		n := last.of[w]
		switch {
		case n == nil || w == c.What || !n.decisive().Time.After(shown.Time):
		case w == Created && c.What != Deleted: // the creation is before what was changed then
		case w == Deleted && last.of[Created] != nil && last.of[Created].Time.After(n.Time): // it exists again
		case (w == Refused || w == Failed) && !n.byClient: // controllers try again
		default:
			c.addLater(w, last)
		}
	}
	c.addRestore(last)
	c.addDeletion(last)
	c.addMissingStatus(last)
	c.addNewest(last)
	slices.SortStableFunc(c.Since, compareTime)
	for _, n := range c.Since {
		n.After = n.Time.Sub(c.Start)
	}
}

// writeEffect returns what a write did to an object, "" for one without effect and for
// other nodes.
func (n *Node) writeEffect(about observe.Object) What {
	deleted, wrote := n.wroteTo(about)
	switch failure := n.writeFailure(); {
	case wrote: // whatever the answer was
	case failure != "":
		return failure
	case !n.isWrite() || n.gotError() || n.noEffect:
		return ""
	}
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

// writeFailure returns Refused or Failed for a write that was answered with an error, other than because the object does not exist
// or for a conflict with a stored object, which controllers retry, and has stored nothing; "" for other nodes.
func (n *Node) writeFailure() What {
	switch {
	case !n.isWrite(), n.Status < http.StatusBadRequest, n.Conflict && !n.isByUser() && !(n.creates() && n.refusedByRestore()), n.Status == http.StatusNotFound && n.Verb != "create" && !n.noStatus && !n.lacksNamespace(), n.isStored():
		return ""
	case n.Status >= http.StatusInternalServerError, n.Status == http.StatusTooManyRequests, n.Status == http.StatusRequestTimeout:
		return Failed
	}
	return Refused
}

// lacksNamespace reports whether a write was refused because the namespace of its object does not exist: with server-side
// apply it may have been to create the object.
func (n *Node) lacksNamespace() bool {
	return n.Verb == "patch" && n.Subresource == "" && n.Object.Namespace != "" && strings.HasPrefix(n.Error, fmt.Sprintf("namespaces %q not found", n.Object.Namespace))
}

// creates reports whether n is a write that creates its object.
func (n *Node) creates() bool { return observe.Creates(n.Verb, n.Subresource, n.Status) }

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
	c := &Chain{About: about, What: what, Missed: o.Missed, completeAfter: o.CompleteAfter, all: o.All, whyDeleted: o.WhyDeleted, whyChanged: o.WhyChanged, whyNext: o.WhyNext, Now: o.Now, Failing: o.Failing, Working: o.Working}
	end := n.End()
	for ; n != nil; n = n.causedBy {
		c.Links = append(c.Links, n)
	}
	first := c.Links[len(c.Links)-1]
	c.Complete = first.addsNode() || first.isOutside() && first.claimedCause == 0 && first.unexplained == nil && first.unknownSync == ""
	c.Start, c.Took = first.Time, end.Sub(first.Time)
	for _, n := range c.Links {
		n.After = n.Time.Sub(c.Start)
	}
	return c
}

// addsNode reports whether n adds a simulated node, which nothing in the control plane leads to.
func (n *Node) addsNode() bool {
	return n.Kind == Call && n.Controller == controllernames.SimulatedKubelet && n.creates() && n.Object.GroupResource() == "nodes" && n.claimedCause == 0
}

// Tree returns the chain as a tree with one branch.
func (c *Chain) Tree() *Tree {
	t := &Tree{About: c.About, Start: c.Start, Took: c.Took, chain: c}
	if c.mayLackCauses() {
		t.Missed = c.Missed
	}
	var below []*Node
	for _, n := range c.Links {
		n := *n
		n.Children = below
		below = []*Node{&n}
	}
	t.Roots = below
	return t
}
