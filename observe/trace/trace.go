package trace

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Options say what a trace or a chain shows, and what is known beside its records.
type Options struct {
	// All includes Events and Leases, deliveries without effects, and syncs without
	// changes.
	All bool
	// Missed is the number of records dropped before the first: Page.Missed.
	Missed uint64
	// CompleteAfter is the Seq after which no record was dropped: Page.CompleteAfter.
	CompleteAfter uint64
	// After is the Seq after which records are read. Only ReadRecords uses it.
	After uint64
	// State is the state after the records, which has the syncs that have not ended.
	State observe.Snapshot

	// Only Build uses the following. Since leaves out nodes that ended before, unless later ones
	// follow from them.
	Since time.Time
	// Controller leaves out nodes that lead to nothing this controller did.
	Controller string
	// Depth is the maximal number of writes in a branch; 0 = unlimited.
	Depth int

	// Only Why, and Working, which makes its sentences, use the following. What is the change to explain.
	What What
	// AtEnd is set if the state is that at the end of a recording: programs may have ended because it did.
	AtEnd bool
	// WhyDeleted is the command that explains the deletion of the object, WhyChanged that of its last change.
	WhyDeleted, WhyChanged string
	// WhyNext is the key that explains Chain.Next, instead of these commands; may be empty.
	WhyNext string
	// Now says what is wrong with the object at present; empty if nothing is.
	Now string
	// Failing says which keys of the object fail, one sentence each.
	Failing []string
	// Working says what controllers do for the object at present, one sentence each.
	Working []string

	following bool      // the end of a sync is still to come, and says what it follows from
	readAt    time.Time // before ReadRecords has read the records
}

// Tree has the writes to an object and everything that they set off.
type Tree struct {
	About  observe.Object `json:"about"`
	Start  time.Time      `json:"start"`
	Took   time.Duration  `json:"tookNanos"` // until the end of the last node
	Missed uint64         `json:"missed,omitempty"`
	Roots  []*Node        `json:"roots"`

	all            bool    // texts and diagrams fold nothing
	controller     string  // Options.Controller
	below          []*Node // what follows from the roots, also what Controller and Depth leave out
	completeAfter  uint64
	unchangedRoots int // the number of writes to the object without changes that are left out
	unexplained    []*Node
	chain          *Chain // that is drawn as a tree with one branch
}

// ErrNoRecords says that no record is about the object.
var ErrNoRecords = errors.New("no such object in the recorded history")

// Build traces an object forward: each write to it that does not follow from another
// one, and its effects. A Pod that was created then may be bound for another reason, such as
// a change of a Node: its binding is a root, too. Records are in order of Seq.
func Build(records []observe.Record, about observe.Object, o Options) (*Tree, error) {
	g := newGraph(records, about, o)
	mine := map[*Node]bool{}
	for _, n := range g.nodes {
		if n.Object != nil && n.isAbout(about) {
			mine[n] = true
		}
	}
	if len(mine) == 0 {
		return nil, noRecordsError(about, o)
	}
	children := g.children()
	t := &Tree{About: about, Missed: o.Missed, Roots: []*Node{}, all: o.All, controller: o.Controller, completeAfter: o.CompleteAfter}
	f := pruner{o}
	bindings := g.bindingsOfCreated(mine)
	for _, n := range g.nodes {
		if !mine[n] && !bindings[n] || n.descendsFrom(mine) || n.isRecordedSoon(o.recordedUntil()) {
			continue
		}
		g.noteIgnored(n, children, o)
		switch {
		case f.attachKept(n, children, 0):
			n.root = true
			t.Roots = append(t.Roots, n)
			t.addBelow(n, children, o.Since)
		case n.noEffect && !f.isExcluded(n):
			t.unchangedRoots++
		}
	}
	t.unexplained = g.unexplainedCreations(about, mine)
	t.setOffsets()
	return t, nil
}

// addBelow adds what follows from a node, also what Controller and Depth leave out.
func (t *Tree) addBelow(n *Node, children map[*Node][]*Node, since time.Time) {
	for _, c := range children[n] {
		if (c.isNotable() || len(children[c]) > 0) && !c.End().Before(since) {
			t.below = append(t.below, c)
		}
		t.addBelow(c, children, since)
	}
}

// recordedUntil returns when the records were read or else, if that is not known, the time of the state.
func (o *Options) recordedUntil() time.Time {
	if o.readAt.IsZero() {
		return o.State.Time
	}
	return o.readAt
}

// children returns the nodes that follow from each node, in chronological order.
func (g *graph) children() map[*Node][]*Node {
	children := map[*Node][]*Node{}
	for _, n := range g.nodes {
		if n.causedBy != nil {
			children[n.causedBy] = append(children[n.causedBy], n)
		}
	}
	return children
}

// isRecordedSoon reports whether n is a write that is known by its events only, and just now: the record of its call
// follows when the call has been answered.
func (n *Node) isRecordedSoon(now time.Time) bool {
	return n.Kind == Outside && n.Verb != "list" && n.unrecorded && now.Sub(n.Time) < maxRecordDelay && !now.IsZero()
}

// bindingsOfCreated returns the bindings of Pods whose creation is in a set of nodes or follows
// from one.
func (g *graph) bindingsOfCreated(set map[*Node]bool) map[*Node]bool {
	created, bindings := map[place]bool{}, map[*Node]bool{}
	for _, n := range g.calls {
		if n.creates() && !n.gotError() && n.Object.Resource == "pods" && (set[n] || n.descendsFrom(set)) {
			created[placeOf(n.Object)] = true
		}
	}
	for _, n := range g.calls {
		if n.isBinding() && created[placeOf(n.Object)] {
			bindings[n] = true
		}
	}
	return bindings
}

func noRecordsError(about observe.Object, o Options) error {
	return fmt.Errorf("%s: %w%s", about, ErrNoRecords, missedNote(o.Missed))
}

// isAbout reports whether n is about the object. UIDs are compared if both are known: another object may
// have had the same name before, or have it since.
func (n *Node) isAbout(about observe.Object) bool {
	if placeOf(n.Object) != placeOf(&about) {
		_, wrote := n.wroteTo(about)
		return wrote
	}
	o := *n.Object
	o.UID = n.uid
	return o.Same(about)
}

// descendsFrom reports whether n follows from a node of the set.
func (n *Node) descendsFrom(set map[*Node]bool) bool {
	for p := n.causedBy; p != nil; p = p.causedBy {
		if set[p] {
			return true
		}
	}
	return false
}

// setOffsets sets the time of each node since the start.
func (t *Tree) setOffsets() {
	var end time.Time
	for n := range t.All() {
		if t.Start.IsZero() || n.Time.Before(t.Start) {
			t.Start = n.Time
		}
		if n.End().After(end) {
			end = n.End()
		}
	}
	t.Took = end.Sub(t.Start)
	for n := range t.All() {
		n.After = n.Time.Sub(t.Start)
	}
}

// All yields all nodes, parents first.
func (t *Tree) All() func(yield func(*Node) bool) {
	return func(yield func(*Node) bool) {
		var walk func([]*Node) bool
		walk = func(list []*Node) bool {
			for _, n := range list {
				if !yield(n) || !walk(n.Children) {
					return false
				}
			}
			return true
		}
		walk(t.Roots)
	}
}

// nodesByTime returns all nodes in chronological order.
func (t *Tree) nodesByTime() []*Node {
	list := slices.Collect(t.All())
	slices.SortStableFunc(list, compareTime)
	return list
}

// breakCycles removes cycles, which can exist if the clock was set back.
func (g *graph) breakCycles() {
	const under, done = 1, 2
	state := map[*Node]int{}
	for _, n := range g.nodes {
		var path []*Node
		for at := n; at != nil && state[at] != done; at = at.causedBy {
			if at.causedBy != nil && state[at.causedBy] == under {
				at.causedBy, at.Cause = nil, nil
			}
			state[at] = under
			path = append(path, at)
		}
		for _, at := range path {
			state[at] = done
		}
	}
}
