package trace

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// clockGap is how late the time of an add may seem when it is computed from the
// times of a sync: the clocks are read one after the other.
const clockGap = 50 * time.Microsecond

// queueName identifies a queue of a controller.
type queueName struct{ controller, queue string }

// addIndex finds the nodes that may have added keys to queues.
type addIndex struct {
	events            map[queueName][]*Node // whose handlers added keys, by end
	maxHandlerTime    map[queueName]time.Duration
	byAddTime         map[queueName][]*Node // by the time of their adds
	keys              map[queueKey][]*Node
	eventsWithoutAdds map[objectKey][]*Node // events whose handlers added no key without a delay
	eventBySeq        map[uint64]*Node

	// What queues report about each add.
	byAdd    map[addID][]*Node     // events, by time
	followed map[addID][]time.Time // when the key was added, of adds whose sync is certain
	soleAdd  map[*Node]uint64      // the add of a sync with several candidates, if only one is left
	delayed  map[queueName][]delayedKey
	ended    map[*Node]endedDelays // of syncs whose keys the timer added
	syncByID map[uint64]*Node
}

type queueKey struct {
	queueName
	key string
}

type objectKey struct{ controller, key string }

// linkAdds finds why each sync's key was in its queue.
func (g *graph) linkAdds() {
	a := g.indexAdds()
	a.resolveByElimination()
	a.matchTimers()
	for _, s := range g.syncs {
		if !s.Open {
			a.linkByQueue(s)
		}
	}
}

// linkByTime links a sync of which the queue does not know the add.
func (a *addIndex) linkByTime(s *Node) {
	if e := a.addingEvent(s); e != nil {
		s.setCause(e, Likely, ByAdd)
	} else if p := a.retriedSync(s); p != nil {
		s.setCause(p, Likely, ByRetry)
	} else {
		a.linkUnknownDelay(s)
	}
}

func (g *graph) indexAdds() *addIndex {
	a := &addIndex{
		byAdd: map[addID][]*Node{}, followed: map[addID][]time.Time{}, soleAdd: map[*Node]uint64{}, delayed: map[queueName][]delayedKey{}, ended: map[*Node]endedDelays{}, syncByID: g.syncByID,
		events: map[queueName][]*Node{}, maxHandlerTime: map[queueName]time.Duration{}, byAddTime: map[queueName][]*Node{},
		keys: map[queueKey][]*Node{}, eventsWithoutAdds: map[objectKey][]*Node{}, eventBySeq: g.eventBySeq,
	}
	for _, e := range g.events {
		for _, q := range slices.Compact(slices.Sorted(slices.Values(e.queues))) {
			name := queueName{e.Controller, q}
			a.events[name] = append(a.events[name], e)
			a.maxHandlerTime[name] = max(a.maxHandlerTime[name], e.Took)
		}
		a.indexEventAdds(e)
		if len(e.queues) == 0 && e.Change != observe.Resynced {
			k := objectKey{e.Controller, e.Object.Key()}
			a.eventsWithoutAdds[k] = append(a.eventsWithoutAdds[k], e)
		}
	}
	for _, s := range g.syncs {
		if s.Open {
			continue
		}
		if s.record.Sure && s.record.LastAdd == 0 {
			a.claimAdd(addID{queueName{s.Controller, s.Queue}, s.record.Add}, s)
		}
		if due := s.record.Due; !due.IsZero() {
			a.delayed[queueName{s.Controller, s.Queue}] = append(a.delayed[queueName{s.Controller, s.Queue}], delayedKey{due, s})
		}
		name := queueName{s.Controller, s.Queue}
		a.byAddTime[name] = append(a.byAddTime[name], s)
		if s.Key != "" && s.KeyBasis != observe.BasisEvent {
			k := queueKey{queueName{s.Controller, s.Queue}, s.Key}
			a.keys[k] = append(a.keys[k], s)
		}
	}
	for _, list := range a.events {
		slices.SortStableFunc(list, compareEnd)
	}
	for _, list := range a.keys {
		slices.SortStableFunc(list, compareEnd)
	}
	for _, list := range a.byAddTime {
		slices.SortStableFunc(list, func(x, y *Node) int { return x.addedAt().Compare(y.addedAt()) })
	}
	for _, list := range a.eventsWithoutAdds {
		slices.SortStableFunc(list, compareEnd)
	}
	return a
}

func compareEnd(x, y *Node) int { return cmp.Or(x.End().Compare(y.End()), cmp.Compare(x.seq, y.seq)) }

// reportedEvent returns the event that the record of s names, as it was delivered to its controller: after the
// handler of an event has returned, a goroutine that it has started may add a key.
func (a *addIndex) reportedEvent(s *Node) *Node {
	e := a.eventBySeq[s.claimedCause]
	if e == nil || e.Controller == s.Controller {
		return e
	}
	if i := slices.IndexFunc(e.alsoTo, func(n *Node) bool { return n.Controller == s.Controller }); i >= 0 {
		return e.alsoTo[i]
	}
	return e
}

// addingEvent returns the event whose handler most likely added the key of s: of those whose handler ran at that moment
// that of the object itself, if there is one. Otherwise it returns, of the events whose handler was still running, the
// one that began last.
func (a *addIndex) addingEvent(s *Node) *Node {
	running := a.runningEvents(s)
	if i := slices.IndexFunc(running, s.isKeyOf); i >= 0 {
		return running[i]
	}
	over := func(e *Node) bool { return e.End().Before(s.addedAt()) }
	if left := slices.DeleteFunc(slices.Clone(running), over); len(left) > 0 {
		running = left
	}
	if len(running) == 0 {
		return nil
	}
	return slices.MaxFunc(running, func(a, b *Node) int { return a.Time.Compare(b.Time) })
}

// isKeyOf reports whether the log of n names the object of e as its key.
func (n *Node) isKeyOf(e *Node) bool {
	return n.KeyBasis.Certain() && n.Key == e.Object.Key()
}

// runningEvents returns the events whose handlers added to the queue and were running
// when the key of s was added.
func (a *addIndex) runningEvents(s *Node) []*Node {
	q, at := queueName{s.Controller, s.Queue}, s.addedAt()
	list := a.events[q]
	i := sort.Search(len(list), func(i int) bool { return !list[i].End().Add(clockGap).Before(at) })
	var found []*Node
	for ; i < len(list) && !list[i].End().Add(-a.maxHandlerTime[q]).After(at); i++ {
		if !list[i].Time.After(at) {
			found = append(found, list[i])
		}
	}
	return found
}

// retriedSync returns the last sync of the same key that requeued it.
func (a *addIndex) retriedSync(s *Node) *Node {
	if s.KeyBasis == observe.BasisEvent {
		return nil
	}
	list := a.keys[queueKey{queueName{s.Controller, s.Queue}, s.Key}]
	for _, p := range slices.Backward(endedBy(list, s.addedAt().Add(clockGap))) {
		if p != s && p.Retried {
			return p
		}
	}
	return nil
}

// endedBy returns the nodes of a list sorted by end that had ended by a time.
func endedBy(list []*Node, at time.Time) []*Node {
	return list[:sort.Search(len(list), func(i int) bool { return list[i].End().After(at) })]
}

// delayingEvent returns the last event without adds of the object that s works on.
func (a *addIndex) delayingEvent(s *Node) *Node {
	if !s.KeyBasis.Certain() {
		return nil
	}
	list := endedBy(a.eventsWithoutAdds[objectKey{s.Controller, s.Key}], s.addedAt())
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}
