package trace

import (
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// replicated are the resources of the keys of replicators.
var replicated = []string{"replicasets", "replicationcontrollers"}

// actingSync is a sync that has created or deleted Pods.
type actingSync struct {
	*Node
	began   time.Time // of the first creation or deletion
	creates bool
	since   time.Time // changes of the object of the key since then may be why; zero = none
}

// linkSpecChanges links a sync of a replicator that has created or deleted Pods, but that something else has queued, to a
// change of the key's object by another client or controller: it reads the object from the cache, which may have the change
// before the handlers have its event, or it was queued already. A Deployment takes back so how many Pods a user has set at its
// ReplicaSet. The change was stored since the write that has queued the sync, if that is the controller's own, or since the
// sync before, if that did the opposite.
func (g *graph) linkSpecChanges() {
	waiting := map[waitingKey][]*actingSync{}
	for _, s := range g.actingSyncs() {
		k := waitingKey{s.Controller, s.Key}
		waiting[k] = append(waiting[k], s)
	}
	for _, syncs := range waiting {
		slices.SortStableFunc(syncs, func(a, b *actingSync) int { return compareTime(a.Node, b.Node) })
		for i, s := range syncs {
			s.noteSince(syncs[max(0, i-1)])
		}
	}
	last := map[*Node]*Node{}
	for _, e := range g.events {
		by := e.causedBy
		if by == nil || by.Controller == e.Controller || by.Subresource == "status" || e.Change != observe.Updated || e.deleting || !slices.Contains(replicated, e.Object.Resource) {
			continue
		}
		for _, s := range waiting[waitingKey{e.Controller, e.Object.Key()}] {
			if !s.since.IsZero() && isWithin(by.End(), s.since, s.began) && (last[s.Node] == nil || by.Time.After(last[s.Node].causedBy.Time)) {
				last[s.Node] = e
			}
		}
	}
	for s, e := range last {
		s.setCause(e, Likely, ByMerge)
	}
}

func (g *graph) actingSyncs() map[*Node]*actingSync {
	found := map[*Node]*actingSync{}
	for _, c := range g.calls {
		s := c.causedBy
		if c.Object.Resource != "pods" || c.Verb != "create" && c.Verb != "delete" || c.gotError() || s == nil || s.Kind != Sync ||
			!slices.Contains(replicators, s.Controller) || !s.KeyBasis.Certain() {
			continue
		}
		if a := found[s]; a == nil || c.Time.Before(a.began) {
			found[s] = &actingSync{Node: s, began: c.Time, creates: c.Verb == "create"}
		}
	}
	return found
}

// noteSince notes since when changes may be why, after another one that has acted for the key.
func (s *actingSync) noteSince(before *actingSync) {
	if s.followsOwnWrite() {
		s.since = s.causedBy.causedBy.Time
	}
	if before.creates != s.creates && !s.followsOthers() {
		s.since = before.Time
	}
}

// followsOwnWrite reports whether the key of a sync was queued by the event of a write that its controller has made.
func (n *Node) followsOwnWrite() bool {
	e := n.causedBy
	return e != nil && e.Kind == Event && e.causedBy != nil && e.causedBy.Kind == Call && e.causedBy.Controller == n.Controller
}

// followsOthers reports whether others have changed the object of the key, or deleted a Pod, and that has queued the sync.
func (n *Node) followsOthers() bool {
	e := n.causedBy
	return e != nil && e.Kind == Event && !n.followsOwnWrite() && (e.Object.Key() == n.Key || e.Change != observe.Deleted && e.isDeletion())
}
