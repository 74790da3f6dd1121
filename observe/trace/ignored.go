package trace

import (
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// ignoredNote says that the handler of an event has queued no key.
const ignoredNote = " and queued nothing: its predicates or its handler ignored it"

// clockDoubt is how far apart the times may be that a process reports of an event and of a sync of the same moment.
const clockDoubt = time.Millisecond

// isByUser reports whether n is a write of a user: one that a client makes because of an event is not.
func (n *Node) isByUser() bool {
	return n.byClient && n.isWrite() && n.causedBy == nil && n.claimedCause == 0 && n.unexplained == nil
}

// noteIgnored notes the events of a user's write that operators have ignored, if nothing else followed from the write or all
// is shown. They say why nothing happened.
func (g *graph) noteIgnored(write *Node, children map[*Node][]*Node, o Options) {
	if !write.isByUser() || o.following || !o.All && isFollowed(write, children) {
		return
	}
	for _, e := range children[write] {
		if e.Kind == Event && g.isIgnored(e, children, o) {
			e.Ignored = true
		}
	}
}

// ignoredEvents returns the events of a user's write that operators have ignored, if nothing else followed from it, and they
// have not synced the object since.
func (g *graph) ignoredEvents(write *Node, o Options) []*Node {
	children := g.children()
	o.All = false
	g.noteIgnored(write, children, o)
	return slices.DeleteFunc(children[write], func(e *Node) bool {
		return !e.Ignored || slices.ContainsFunc(g.syncs, func(s *Node) bool {
			return s.Controller == e.Controller && s.Key == e.Object.Key() && s.Time.After(e.Time)
		})
	})
}

// lastChange returns the last write that has created or changed an object, of nodes in the order of its versions; nil if it was
// deleted since.
func lastChange(nodes []*Node, about observe.Object) *Node {
	for _, n := range slices.Backward(nodes) {
		switch n.writeEffect(about) {
		case Created, Changed:
			return n
		case Deleted:
			return nil
		}
	}
	return nil
}

// isFollowed reports whether anything that is worth showing follows from n, or a sync of an operator.
func isFollowed(n *Node, children map[*Node][]*Node) bool {
	return slices.ContainsFunc(children[n], func(c *Node) bool {
		return c.isNotable() || c.Kind == Sync && observe.IsReported(c.Controller) || isFollowed(c, children)
	})
}

// isIgnored reports whether the records prove that a controller of an operator has queued no key for an event: its process
// reports each add. A key that was queued already is not added again.
func (g *graph) isIgnored(e *Node, children map[*Node][]*Node, o Options) bool {
	if !observe.IsReported(e.Controller) || !slices.Contains([]observe.Change{observe.Added, observe.Updated, observe.Deleted}, e.Change) ||
		o.Missed > 0 && (o.CompleteAfter == 0 || e.seq <= o.CompleteAfter) || mayLackReports(o.State, e.Controller) {
		return false
	}
	for _, same := range children[e.causedBy] { // the controller may have several handlers for the kind
		if same.Controller != e.Controller || same.Kind != Event {
			continue
		}
		if len(same.queues)+len(same.delayedKeys)+len(children[same]) > 0 || same.delays || same.Ignored {
			return false
		}
	}
	return !slices.ContainsFunc(g.syncs, func(s *Node) bool { return s.Controller == e.Controller && s.mayServe(e) })
}

// mayServe reports whether the key of a sync may have been queued when the handler of an event ran, or soon after it for a
// reason that is not known.
func (n *Node) mayServe(e *Node) bool {
	if n.Open {
		return !n.Time.Before(e.Time.Add(-clockDoubt))
	}
	from, until := e.Time.Add(-clockDoubt), e.End().Add(clockDoubt)
	if n.record.Cause == 0 && n.record.CauseSync == 0 && isWithin(n.addedAt(), from, until.Add(maxGoroutine)) {
		return true
	}
	return !n.addedAt().After(until) && !n.Time.Before(from)
}

// mayLackReports reports whether a controller has keys in its queue, for which no sync has begun, or its process has dropped
// reports.
func mayLackReports(s observe.Snapshot, controller string) bool {
	return slices.ContainsFunc(s.Queues, func(q observe.Queue) bool { return q.Controller == controller && q.Depth > 0 }) ||
		slices.ContainsFunc(s.Clients, func(c observe.Client) bool {
			return c.ReportsDropped > 0 && slices.Contains(c.Controllers, controller)
		})
}
