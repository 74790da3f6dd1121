package trace

import (
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// replicated are the resources of the keys of replicators.
var replicated = []string{"replicasets", "replicationcontrollers"}

// linkSpecChanges links a sync of a replicator that its own write has queued, and that has created or deleted Pods, to a
// change of the key's object by another client or controller that was stored since that write and before the sync acted: it
// reads the object from the cache, which may have the change before the handlers have its event. A Deployment takes back so how
// many Pods a user has set at its ReplicaSet.
func (g *graph) linkSpecChanges() {
	firstAct := map[*Node]time.Time{} // of syncs whose own write has queued them
	for _, c := range g.calls {
		s := c.parent
		if c.Object.Resource != "pods" || c.Verb != "create" && c.Verb != "delete" || c.failed() || s == nil || s.Kind != Sync || !s.followsOwnWrite() {
			continue
		}
		if at, ok := firstAct[s]; !ok || c.Time.Before(at) {
			firstAct[s] = c.Time
		}
	}
	waiting := map[waitingKey][]*Node{}
	for s := range firstAct {
		k := waitingKey{s.Controller, s.Key}
		waiting[k] = append(waiting[k], s)
	}
	last := map[*Node]*Node{}
	for _, e := range g.events {
		by := e.parent
		if by == nil || by.Controller == e.Controller || by.Subresource == "status" || e.Change != observe.Updated || e.deleting || !slices.Contains(replicated, e.Object.Resource) {
			continue
		}
		for _, s := range waiting[waitingKey{e.Controller, e.Object.Key()}] {
			if isWithin(by.End(), s.parent.parent.Time, firstAct[s]) && (last[s] == nil || by.Time.After(last[s].parent.Time)) {
				last[s] = e
			}
		}
	}
	for s, e := range last {
		s.setCause(e, Likely, ByMerge)
	}
}

// followsOwnWrite reports whether the key of a sync was queued by the event of a write that its controller has made.
func (n *Node) followsOwnWrite() bool {
	e := n.parent
	return slices.Contains(replicators, n.Controller) && n.KeyBasis.Certain() && e != nil && e.Kind == Event && e.parent != nil && e.parent.Kind == Call && e.parent.Controller == n.Controller
}
