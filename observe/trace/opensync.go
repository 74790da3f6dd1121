package trace

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ctrlplane/ctrlplane/observe"
)

// toExplain returns the node with which the chain of a change begins, or nil. nodes are in
// chronological order.
func toExplain(nodes []*Node, last *lastWrites, what What, about observe.Object) *Node {
	switch n := last.of[what]; {
	case what == Deleted:
		return deletion(last)
	case what == Changed && n != nil && n.isOfOpenSync():
		return n.lastExplained(nodes, about)
	default:
		return n
	}
}

// addRunning adds what is known of syncs that have not ended.
func (g *graph) addRunning(state observe.Snapshot) {
	for i := range state.Controllers {
		c := &state.Controllers[i]
		for _, r := range c.Running {
			s := g.syncByID[r.ID]
			if s == nil && r.Key != "" {
				s = &Node{ID: fmt.Sprintf("s%d", r.ID), Kind: Sync, Controller: c.Name, Open: true}
				g.syncByID[r.ID] = s
				g.syncs = append(g.syncs, s)
			}
			if s == nil || !s.Open { // it has ended since
				continue
			}
			s.running, s.processGone, s.Queue, s.Key, s.KeyBasis = true, isLost(c), r.Queue, r.Key, r.KeyBasis
			s.Time, s.Took = r.Since, max(state.Time.Sub(r.Since), 0)
		}
	}
}

// linkOpenSyncs links syncs without a recorded end, which would say what added their keys, to what did that
// most likely: the last event of the key's object, or the sync of the key since that is to be repeated.
func (g *graph) linkOpenSyncs() {
	open := g.openSyncs()
	if len(open) == 0 {
		return
	}
	events, ended := map[*Node]*Node{}, map[*Node]*Node{}
	for _, e := range g.events {
		for _, s := range open[objectKey{e.Controller, e.Object.Key()}] {
			if s.Queue == "" && len(e.queues) > 0 || slices.Contains(e.queues, s.Queue) {
				s.noteBefore(events, e)
			}
		}
	}
	for _, p := range g.syncs {
		for _, s := range open[objectKey{p.Controller, p.Key}] {
			if !p.Open && (s.Queue == "" || p.Queue == s.Queue) {
				s.noteBefore(ended, p)
			}
		}
	}
	for _, list := range open {
		for _, s := range list {
			switch e, p := events[s], ended[s]; {
			case e != nil && (p == nil || e.End().After(p.Time)):
				s.setCause(e, Likely, ByAdd)
			case p != nil && p.Retried:
				s.setCause(p, Likely, ByRetry)
			}
		}
	}
}

// openSyncs returns the syncs without a recorded end by their keys. Unless the key is known, it is taken to
// be that of the object which the sync has written first.
func (g *graph) openSyncs() map[objectKey][]*Node {
	open, first := map[objectKey][]*Node{}, map[*Node]*Node{}
	for _, c := range g.calls {
		if c.causedBy != nil && c.isWrite() {
			first[c.causedBy] = cmp.Or(first[c.causedBy], c)
		}
	}
	for _, s := range g.syncs {
		key := s.Key
		if c := first[s]; key == "" && c != nil {
			key = c.Object.Key()
		}
		if s.Open && s.causedBy == nil && key != "" {
			k := objectKey{s.Controller, key}
			open[k] = append(open[k], s)
		}
	}
	return open
}

// noteBefore notes another node in last if it is the last one that had ended when the sync began.
func (n *Node) noteBefore(last map[*Node]*Node, other *Node) {
	if !other.End().After(n.Time.Add(clockGap)) && (last[n] == nil || compareEnd(other, last[n]) > 0) {
		last[n] = other
	}
}

// isOfOpenSync reports whether n belongs to a sync that has no recorded end and is not known to run. Less is known of
// its cause than of one that runs: neither its key nor when it began.
func (n *Node) isOfOpenSync() bool {
	return n.causedBy != nil && n.causedBy.Open && !n.causedBy.running
}

// lastExplained returns the last change of the object before n that the same controller has made
// and whose cause is known, and n without one.
func (n *Node) lastExplained(nodes []*Node, about observe.Object) *Node {
	for _, e := range slices.Backward(nodes[:slices.Index(nodes, n)]) {
		if e.Object == nil || e.Controller != n.Controller || e.causedBy == nil || e.causedBy.causedBy == nil {
			continue
		}
		if e.isAbout(about) && e.writeEffect(about) == Changed {
			return e
		}
	}
	return n
}

// addNewest adds the newest change of the object if the one before it is explained instead.
func (c *Chain) addNewest(last *lastWrites) {
	if n := last.of[Changed]; c.What == Changed && n != c.Links[0] && !slices.Contains(c.Since, n) {
		c.Since = append(c.Since, n)
	}
}
