package trace

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// gap is how late the moment of an add may seem, as reckoned from a sync's
	// times: clocks are read one after the other.
	gap = 50 * time.Microsecond
	// addHeldUp is the same where a thread was held up in between.
	addHeldUp = 5 * time.Millisecond
)

// queueName names a queue of a controller.
type queueName struct{ controller, queue string }

// adders are those who may have added keys to queues.
type adders struct {
	events  map[queueName][]*Node // whose handlers did, in order of their end
	longest map[queueName]time.Duration
	syncs   map[string][]*Node    // by controller
	queued  map[queueName][]*Node // in order of their adds
	keys    map[queueKey][]*Node
	silent  map[objectKey][]*Node // events whose handlers added nothing at once
	bySeq   map[uint64]*Node

	// What queues tell of each add.
	byAdd    map[addName][]*Node     // events, in order of time
	followed map[addName][]time.Time // by a sync, for certain: when its key was added
	only     map[*Node]uint64        // the add of a sync that several fit, where but one is left
	late     map[queueName][]putOff
	byID     map[uint64]*Node // syncs
}

type queueKey struct {
	queueName
	key string
}

type objectKey struct{ controller, key string }

// linkAdds finds why each sync's key was in its queue.
func (g *graph) linkAdds() {
	a := g.adders()
	a.eliminate()
	for _, s := range g.syncs {
		if s.Open {
			continue
		}
		if a.sure(s) {
			continue
		}
		if e, certainty := a.event(s); e != nil {
			s.follow(e, certainty, ByAdd)
		} else if p := a.retry(s); p != nil {
			s.follow(p, Likely, ByRetry)
		} else if e := a.heldUp(s); e != nil {
			s.follow(e, Likely, ByAdd)
		} else if p := a.sync(s); p != nil {
			s.follow(p, Likely, BySync)
		} else if e := a.delay(s); e != nil {
			s.follow(e, Likely, ByDelay)
		}
	}
}

func (g *graph) adders() *adders {
	a := &adders{
		byAdd: map[addName][]*Node{}, followed: map[addName][]time.Time{}, only: map[*Node]uint64{}, late: map[queueName][]putOff{}, byID: g.byID,
		events: map[queueName][]*Node{}, longest: map[queueName]time.Duration{}, syncs: map[string][]*Node{}, queued: map[queueName][]*Node{},
		keys: map[queueKey][]*Node{}, silent: map[objectKey][]*Node{}, bySeq: g.bySeq,
	}
	for _, e := range g.events {
		for _, q := range slices.Compact(slices.Sorted(slices.Values(e.queues))) {
			name := queueName{e.Controller, q}
			a.events[name] = append(a.events[name], e)
			a.longest[name] = max(a.longest[name], e.Took)
		}
		a.number(e)
		if len(e.queues) == 0 && e.Change != observe.Resynced {
			k := objectKey{e.Controller, e.Object.Key()}
			a.silent[k] = append(a.silent[k], e)
		}
	}
	for _, s := range g.syncs {
		if s.Open {
			continue
		}
		if s.put.Sure && s.put.LastAdd == 0 {
			a.claim(addName{queueName{s.Controller, s.Queue}, s.put.Add}, s)
		}
		if due := s.put.Due; !due.IsZero() {
			a.late[queueName{s.Controller, s.Queue}] = append(a.late[queueName{s.Controller, s.Queue}], putOff{due, s})
		}
		a.syncs[s.Controller] = append(a.syncs[s.Controller], s)
		name := queueName{s.Controller, s.Queue}
		a.queued[name] = append(a.queued[name], s)
		if s.Key != "" && s.KeyBasis != observe.BasisEvent {
			k := queueKey{queueName{s.Controller, s.Queue}, s.Key}
			a.keys[k] = append(a.keys[k], s)
		}
	}
	for _, list := range a.events {
		slices.SortStableFunc(list, ended)
	}
	for _, list := range a.keys {
		slices.SortStableFunc(list, ended)
	}
	for _, list := range a.queued {
		slices.SortStableFunc(list, func(x, y *Node) int { return x.added().Compare(y.added()) })
	}
	for _, list := range a.silent {
		slices.SortStableFunc(list, ended)
	}
	return a
}

func ended(x, y *Node) int { return cmp.Or(x.End().Compare(y.End()), cmp.Compare(x.seq, y.seq)) }

// event is the one whose handler added s's key.
func (a *adders) event(s *Node) (*Node, Certainty) {
	told, running := a.bySeq[s.cause], a.running(s)
	switch len(running) {
	case 0:
		return nil, ""
	case 1:
		if e := running[0]; s.put.Add == 0 && (e == told || s.isKeyOf(e) && a.tally(e, s)) {
			return e, Exact
		}
	}
	return likeliest(s, told, running), Likely
}

// likeliest is of several events the one of the very object, or else of those
// whose handler was not over the one that the queue names, or began last.
func likeliest(s, told *Node, running []*Node) *Node {
	if i := slices.IndexFunc(running, s.isKeyOf); i >= 0 {
		return running[i]
	}
	over := func(e *Node) bool { return e.End().Before(s.added()) }
	if !slices.ContainsFunc(running, func(e *Node) bool { return !over(e) }) {
		over = func(*Node) bool { return false }
	}
	running = slices.DeleteFunc(slices.Clone(running), over)
	if slices.Contains(running, told) {
		return told
	}
	return slices.MaxFunc(running, func(a, b *Node) int { return a.Time.Compare(b.Time) })
}

// isKeyOf says whether the key that s names in its log is that of e's object.
func (s *Node) isKeyOf(e *Node) bool {
	return s.KeyBasis == observe.BasisLog && s.Key == e.Object.Key()
}

// tally says whether as many syncs seem to come of e as its handler added keys to
// the queue of s. A key that is added while it is worked on gets behind later
// ones, and so the queue's positions can mislead.
func (a *adders) tally(e, s *Node) bool {
	added := 0
	for _, q := range e.queues {
		if q == s.Queue {
			added++
		}
	}
	list := a.queued[queueName{s.Controller, s.Queue}]
	first := sort.Search(len(list), func(i int) bool { return !list[i].added().Before(e.Time) })
	end := sort.Search(len(list), func(i int) bool { return list[i].added().After(e.End().Add(gap)) })
	return added == end-first
}

// heldUp is the event that s follows by its place in the queue, if the times fit
// but for a thread that was held up.
func (a *adders) heldUp(s *Node) *Node {
	if told := a.bySeq[s.cause]; told != nil && within(s.added(), told.Time, told.End().Add(addHeldUp)) {
		return told
	}
	return nil
}

// running are the events whose handlers ran and added to the queue when s's key
// was added.
func (a *adders) running(s *Node) []*Node {
	q, at := queueName{s.Controller, s.Queue}, s.added()
	list := a.events[q]
	i := sort.Search(len(list), func(i int) bool { return !list[i].End().Add(gap).Before(at) })
	var found []*Node
	for ; i < len(list) && !list[i].End().Add(-a.longest[q]).After(at); i++ {
		if !list[i].Time.After(at) {
			found = append(found, list[i])
		}
	}
	return found
}

// retry is the last sync of the same key that put it back.
func (a *adders) retry(s *Node) *Node {
	if s.KeyBasis == observe.BasisEvent {
		return nil
	}
	list := a.keys[queueKey{queueName{s.Controller, s.Queue}, s.Key}]
	for _, p := range slices.Backward(over(list, s.added().Add(gap))) {
		if p != s && p.Retried {
			return p
		}
	}
	return nil
}

// over are those of a list, in order of their end, that were over at a time.
func over(list []*Node, at time.Time) []*Node {
	return list[:sort.Search(len(list), func(i int) bool { return list[i].End().After(at) })]
}

// sync is the one under way when s's key was added, of several the one that
// began last: who adds keys for others does it at once.
func (a *adders) sync(s *Node) *Node {
	var last *Node
	for _, p := range a.syncs[s.Controller] {
		if p == s || !p.Time.Before(s.Time) || p.Queue == s.Queue && p.Key == s.Key || !within(s.added(), p.Time, p.End().Add(gap)) {
			continue
		}
		if last == nil || p.Time.After(last.Time) {
			last = p
		}
	}
	return last
}

// delay is the last event of the object whose key s has that added nothing.
func (a *adders) delay(s *Node) *Node {
	if s.KeyBasis != observe.BasisLog {
		return nil
	}
	list := over(a.silent[objectKey{s.Controller, s.Key}], s.added())
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}
