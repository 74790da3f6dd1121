package trace

import (
	"slices"
	"sort"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// maxUnreplaced is how long after a deletion a sync may replace the Pod although other news has queued its key.
const maxUnreplaced = 10 * time.Second

// replicators replace any Pod that is deleted, under another name. What other controllers create in answer to a deletion
// is either of the same name, or not for that reason, as the next Pod of a Job.
var replicators = []string{controllernames.ReplicaSet, controllernames.ReplicationController}

// replicas identifies the Pods of a key of one of the replicators.
type replicas struct{ controller, key string }

// replacement is a sync that has created Pods.
type replacement struct {
	*Node
	began   time.Time // of the first creation
	created int
}

// linkReplacements links a sync that has created a Pod, but that no deletion has queued, to the oldest deletion of a Pod of
// the same key that no creation has answered: a ReplicaSet that waits to see a Pod which it has created replaces another
// one in the sync that this Pod queues.
func (g *graph) linkReplacements() {
	replacing := g.replacingSyncs()
	if len(replacing) == 0 {
		return
	}
	deletions := g.deletionsOf(replacing)
	for of, syncs := range replacing {
		left := deletions[of]
		slices.SortStableFunc(left, func(a, b *Node) int { return a.writtenAt().Compare(b.writtenAt()) })
		slices.SortStableFunc(syncs, func(a, b *replacement) int { return compareTime(a.Node, b.Node) })
		for _, s := range syncs {
			left = s.linkReplacement(left)
		}
	}
}

// replacingSyncs returns the syncs that have created Pods which are named after their keys.
func (g *graph) replacingSyncs() map[replicas][]*replacement {
	found, bySync := map[replicas][]*replacement{}, map[*Node]*replacement{}
	for _, c := range g.calls {
		s := c.causedBy
		if c.Verb != "create" || c.Subresource != "" || c.Object.Resource != "pods" || c.Failed || s == nil || s.Kind != Sync ||
			!slices.Contains(replicators, s.Controller) || !s.KeyBasis.Certain() || !slices.Contains(namedAfter(c.Object.Key()), s.Key) {
			continue
		}
		r := bySync[s]
		if r == nil {
			r = &replacement{Node: s, began: c.Time}
			bySync[s] = r
			of := replicas{s.Controller, s.Key}
			found[of] = append(found[of], r)
		}
		r.created++
		if c.Time.Before(r.began) {
			r.began = c.Time
		}
	}
	return found
}

// deletionsOf returns the events with which the controllers have learned that others have deleted their Pods: the first one
// of each.
func (g *graph) deletionsOf(replacing map[replicas][]*replacement) map[replicas][]*Node {
	type seenBy struct {
		controller string
		object     observe.Object
	}
	seen, found := map[seenBy]bool{}, map[replicas][]*Node{}
	for _, e := range g.events {
		by := seenBy{e.Controller, *e.Object}
		if e.Object.Resource != "pods" || !slices.Contains(replicators, e.Controller) || !e.isDeletion() || seen[by] {
			continue
		}
		seen[by] = true
		if e.causedBy != nil && e.causedBy.Controller == e.Controller {
			continue
		}
		for _, key := range namedAfter(e.Object.Key()) {
			if of := (replicas{e.Controller, key}); replacing[of] != nil {
				found[of] = append(found[of], e)
			}
		}
	}
	return found
}

// isDeletion reports whether an event says that its object is being or was deleted. Older records do not say which one
// does, but for the call.
func (n *Node) isDeletion() bool {
	return n.Change == observe.Deleted || n.deleting || n.causedBy != nil && n.causedBy.Verb == "delete"
}

// writtenAt returns when the write of an event's version began, if it is recorded: a sync may see the version in the
// informer's store before the handler receives the event.
func (n *Node) writtenAt() time.Time {
	if n.causedBy != nil {
		return n.causedBy.Time
	}
	return n.End()
}

// linkReplacement links a sync to the first of the deletions that are left, if none has queued it, and returns those that
// are left then. The deletions are in the order of their writes.
func (r *replacement) linkReplacement(left []*Node) []*Node {
	writtenAfter := func(at time.Time) int {
		return sort.Search(len(left), func(i int) bool { return left[i].writtenAt().After(at) })
	}
	left = left[writtenAfter(r.began.Add(-maxUnreplaced)):]
	known := writtenAfter(r.began)
	if known == 0 {
		return left
	}
	switch e := r.causedBy; {
	case e != nil && e.Kind == Event && e.isDeletion():
		if i := slices.Index(left[:known], e); i > 0 { // it is answered before older ones
			copy(left[1:i+1], left[:i])
			left[0] = e
		}
	case e != nil && e.Kind == Event && e.Object.Key() == r.Key && !r.isOwnNews(e): // another number of replicas, say
		return left[known:]
	default:
		r.setCause(left[0], Likely, ByReplaced)
	}
	return left[min(known, r.created):]
}
