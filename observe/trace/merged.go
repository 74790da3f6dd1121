package trace

import (
	"time"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// waitingKey is a key while it is queued.
type waitingKey struct{ controller, key string }

// linkMerged links a sync that follows from no news, because a timer or its controller's
// own write to the object of the key has queued it, to the last event about the key, or
// about an object that is named after it, that the controller received while the key
// was delayed or queued. The handler of such an event does not add the key, or adds it
// with a delay that the queue ignores, or to a queue without a name, whose worker adds
// the key: the EndpointSlice controller does that with Pods. Of a Deployment's Pods,
// only the deletion of the last one counts, if the sync scales a ReplicaSet for it.
func (g *graph) linkMerged() {
	waiting := map[waitingKey][]*Node{}
	for _, s := range g.syncs {
		if s.KeyBasis.Certain() && !s.Open && (s.delayed() != nil || s.isOwnNews(s.causedBy) || s.isHandedOver()) {
			k := waitingKey{s.Controller, s.Key}
			waiting[k] = append(waiting[k], s)
		}
	}
	last, lastPods, scaling := map[*Node]*Node{}, g.lastPods(), g.scalingSyncs()
	for _, e := range g.events {
		if len(e.queues) > 0 || e.Change == observe.Resynced || e.Change == observe.Listed {
			continue
		}
		for _, key := range namedAfter(e.Object.Key()) {
			for _, s := range waiting[waitingKey{e.Controller, key}] {
				leads := !e.isPodOfDeployment() || lastPods[e] == key && scaling[s]
				if leads && s.mergedEvent(e) && (last[s] == nil || e.End().After(last[s].End())) {
					last[s] = e
				}
			}
		}
	}
	for s, e := range last {
		s.setCause(e, Likely, ByMerge)
	}
}

// isPodOfDeployment reports whether n is an event of a Pod for the Deployment controller, which ignores all but deletions:
// that of the last Pod of a Deployment queues its key, if the strategy is Recreate.
func (n *Node) isPodOfDeployment() bool {
	return n.Controller == controllernames.Deployment && n.Object.Group == "" && n.Object.Resource == "pods"
}

// lastPods returns the deletions after which a Deployment had no Pod, with its key.
func (g *graph) lastPods() map[*Node]string {
	last, pods := map[*Node]string{}, map[string]map[string]bool{}
	for _, e := range g.events {
		if !e.isPodOfDeployment() {
			continue
		}
		keys := namedAfter(e.Object.Key())
		if len(keys) < 3 { // DEPLOYMENT-HASH-SUFFIX
			continue
		}
		pod, key := keys[0], keys[2]
		if pods[key] == nil {
			pods[key] = map[string]bool{}
		}
		if pods[key][pod] = true; e.Change == observe.Deleted {
			delete(pods[key], pod)
			if len(pods[key]) == 0 {
				last[e] = key
			}
		}
	}
	return last
}

// scalingSyncs returns the syncs of Deployments that have created or changed ReplicaSets: with the strategy Recreate, which
// the records lack, a Deployment waits for the deletion of its last Pod to do so.
func (g *graph) scalingSyncs() map[*Node]bool {
	found := map[*Node]bool{}
	for _, c := range g.calls {
		if c.Controller == controllernames.Deployment && c.isWrite() && c.Object.Resource == "replicasets" && c.causedBy != nil {
			found[c.causedBy] = true
		}
	}
	return found
}

// delayed returns the event or the sync that delayed the key of a sync, or nil.
func (n *Node) delayed() *Node {
	if n.Cause != nil && (n.Cause.Rule == ByDelay || n.Cause.Rule == ByRetry) {
		return n.causedBy
	}
	return nil
}

// maxHandOver is how long a queue without a name may hold a key.
const maxHandOver = 100 * time.Millisecond

// isHandedOver reports whether the key was added by a goroutine that works for no event
// and for no sync.
func (n *Node) isHandedOver() bool {
	r := n.record
	return n.Cause == nil && r.Sure && r.LastAdd == 0 && !r.Timed && r.Cause == 0 && r.CauseSync == 0
}

// mergedEvent reports whether e happened while the key of a sync was queued or delayed. An event of a later version than
// that of the controller's own write came after it, even if another controller, whose record it shares, received it before.
func (n *Node) mergedEvent(e *Node) bool {
	from, by := n.addedAt(), n.delayed()
	switch {
	case n.isOwnNews(n.causedBy) && e.Object.Same(*n.causedBy.Object) && e.isNewerThan(n.causedBy):
		from = time.Time{}
	case by != nil && by.Kind == Event:
		from = by.End()
	case n.isHandedOver():
		from = from.Add(-maxHandOver)
	}
	return e != by && isWithin(e.End(), from, n.Time) && !n.isOwnNews(e)
}

// isOwnNews reports whether an event is of a write that the controller of a sync has
// made to the object of the key.
func (n *Node) isOwnNews(e *Node) bool {
	return e != nil && e.Kind == Event && e.Object.Key() == n.Key && e.causedBy != nil && e.causedBy.Controller == n.Controller
}

// isNewerThan reports whether an event is of a later version than another one.
func (n *Node) isNewerThan(other *Node) bool {
	of := observe.VersionNumber(other.ResourceVersion)
	return of != 0 && observe.VersionNumber(n.ResourceVersion) > of
}

// namedAfter returns a key and the keys that its name may be derived from: NAME for
// NAME-SUFFIX, as of objects that controllers create.
func namedAfter(key string) (keys []string) {
	keys = []string{key}
	for i := len(key) - 1; i > 0 && key[i] != '/'; i-- {
		if key[i] == '-' {
			keys = append(keys, key[:i])
		}
	}
	return keys
}
