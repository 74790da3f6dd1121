package trace

import (
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// maxUnreplaced is how long after a deletion a sync may replace the object although other news has queued its key.
const maxUnreplaced = 10 * time.Second

// family is what a controller creates for a key.
type family struct{ controller, key, group, resource string }

// linkReplacements links a sync that has created an object, but that no deletion has queued, to the oldest deletion of
// such an object that no creation has answered: a ReplicaSet that waits to see a Pod which it has created replaces
// another one in the sync that this Pod queues.
func (g *graph) linkReplacements() {
	replacing := g.replacingSyncs()
	if len(replacing) == 0 {
		return
	}
	deletions := g.deletionsOf(replacing)
	for f, syncs := range replacing {
		left := deletions[f]
		slices.SortStableFunc(left, func(a, b *Node) int { return a.writtenAt().Compare(b.writtenAt()) })
		for _, s := range syncs {
			left = s.linkReplacement(left)
		}
	}
}

// replacement is a sync with what it has created of a family.
type replacement struct {
	*Node
	created []*Node
}

// replacingSyncs returns the syncs that have created objects which are named after their keys, by time.
func (g *graph) replacingSyncs() map[family][]*replacement {
	found := map[family][]*replacement{}
	for _, c := range g.calls {
		s := c.parent
		if c.Verb != "create" || c.Subresource != "" || c.Failed || s == nil || s.Kind != Sync || !s.KeyBasis.Certain() ||
			c.Object.Key() == s.Key || !slices.Contains(namedAfter(c.Object.Key()), s.Key) {
			continue
		}
		f := family{s.Controller, s.Key, c.Object.Group, c.Object.Resource}
		list := found[f]
		if i := slices.IndexFunc(list, func(r *replacement) bool { return r.Node == s }); i >= 0 {
			list[i].created = append(list[i].created, c)
			continue
		}
		found[f] = append(list, &replacement{s, []*Node{c}})
	}
	for _, list := range found {
		slices.SortStableFunc(list, func(a, b *replacement) int { return compareTime(a.Node, b.Node) })
	}
	return found
}

// deletionsOf returns, for families, the events with which their controllers have learned that others have deleted an
// object: the first of each.
func (g *graph) deletionsOf(families map[family][]*replacement) map[family][]*Node {
	type seenBy struct {
		controller string
		object     observe.Object
	}
	seen, found := map[seenBy]bool{}, map[family][]*Node{}
	for _, e := range g.events {
		by := seenBy{e.Controller, *e.Object}
		if !e.isDeletion() || seen[by] || e.parent != nil && e.parent.Controller == e.Controller {
			continue
		}
		seen[by] = true
		for _, key := range namedAfter(e.Object.Key()) {
			if f := (family{e.Controller, key, e.Object.Group, e.Object.Resource}); families[f] != nil {
				found[f] = append(found[f], e)
			}
		}
	}
	return found
}

// isDeletion reports whether an event says that its object is being or was deleted. Older records do not say which one
// does, but for the call.
func (n *Node) isDeletion() bool {
	return n.Change == observe.Deleted || n.deleting || n.parent != nil && n.parent.Verb == "delete"
}

// writtenAt returns when the write of an event's version began, if it is recorded: a sync may see the version in the
// informer's store before the handler receives the event.
func (n *Node) writtenAt() time.Time {
	if n.parent != nil {
		return n.parent.Time
	}
	return n.End()
}

// linkReplacement links a sync to the first of the deletions that are left, if none has queued it, and returns those that
// are left then.
func (r *replacement) linkReplacement(left []*Node) []*Node {
	began := r.created[0].Time
	left = slices.DeleteFunc(slices.Clone(left), func(e *Node) bool { return e.writtenAt().Before(began.Add(-maxUnreplaced)) })
	known := slices.IndexFunc(left, func(e *Node) bool { return e.writtenAt().After(began) })
	if known < 0 {
		known = len(left)
	}
	if known == 0 || r.recreates(left[:known]) {
		return left
	}
	switch e := r.parent; {
	case e != nil && e.Kind == Event && e.isDeletion():
		if i := slices.Index(left, e); i >= 0 { // it is answered before older ones
			left = slices.Insert(slices.Delete(left, i, i+1), 0, e)
		}
	case e != nil && e.Kind == Event && e.Object.Key() == r.Key && !r.isOwnNews(e): // another number of replicas, say
		return left[known:]
	default:
		r.setCause(left[0], Likely, ByReplaced)
	}
	return left[min(known, len(r.created)):]
}

// recreates reports whether the sync has created an object under the name of one that was deleted, as a StatefulSet: that
// waits until the old one is gone, and for the Pods before it.
func (r *replacement) recreates(deleted []*Node) bool {
	return slices.ContainsFunc(r.created, func(c *Node) bool {
		return slices.ContainsFunc(deleted, func(e *Node) bool { return placeOf(e.Object) == placeOf(c.Object) })
	})
}
