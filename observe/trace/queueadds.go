package trace

import (
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// maxTimerDelay is how late a queue's timer may be, on a machine that is short of
// processors.
const maxTimerDelay = 50 * time.Millisecond

// addID names an add: a controller that is started again counts anew.
type addID struct {
	queueName
	number uint64
}

// delayedKey is a key that an event's handler or a sync has put back until it is due.
type delayedKey struct {
	due time.Time
	by  *Node
}

// indexEventAdds notes which adds an event's handler made at once, and which later.
func (a *addIndex) indexEventAdds(e *Node) {
	for i, n := range e.adds {
		k := addID{queueName{e.Controller, e.queues[i]}, n}
		a.byAdd[k] = append(a.byAdd[k], e)
	}
	for _, l := range e.later {
		q := queueName{e.Controller, l.Queue}
		a.delayed[q] = append(a.delayed[q], delayedKey{l.Due, e})
	}
}

// linkByQueue links a sync to what added its key, where the queue itself tells that.
func (a *addIndex) linkByQueue(s *Node) bool {
	switch {
	case s.record.Add == 0:
		return false
	case s.record.Timed:
		return a.linkTimerAdd(s)
	case !s.record.Sure:
		return a.linkOneOf(s)
	}
	if p := a.byID[s.record.CauseSync]; p != nil && p != s {
		s.setCause(p, Exact, BySync)
		return true
	}
	if e := a.eventOfAdd(queueName{s.Controller, s.Queue}, s.record.Add, s); e != nil {
		s.setCause(e, Exact, ByAdd)
		return true
	}
	return false
}

// resolveByElimination finds for syncs that several adds fit the one that no other sync
// follows: each add has one sync.
func (a *addIndex) resolveByElimination() {
	for again := true; again; {
		again = false
		for q, list := range a.byAddTime {
			for _, s := range list {
				if s.record.LastAdd == 0 || a.soleAdd[s] != 0 {
					continue
				}
				if left := a.candidateAdds(q, s); len(left) == 1 {
					a.soleAdd[s], again = left[0], true
					a.claimAdd(addID{q, left[0]}, s)
				}
			}
		}
	}
}

// candidateAdds are the adds that fit s and that no other sync is known to follow.
func (a *addIndex) candidateAdds(q queueName, s *Node) (numbers []uint64) {
	for n := s.record.Add; n <= s.record.LastAdd; n++ {
		near := func(at time.Time) bool { return within(s.addedAt(), at.Add(-minRestartTime), at.Add(minRestartTime)) }
		if !slices.ContainsFunc(a.followed[addID{q, n}], near) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// minRestartTime is less than a controller takes to end and begin to count anew.
const minRestartTime = 20 * time.Millisecond

// claimAdd notes that s follows an add, for certain.
func (a *addIndex) claimAdd(k addID, s *Node) { a.followed[k] = append(a.followed[k], s.addedAt()) }

// linkOneOf links a sync that several adds fit: for certain where only one is left,
// or else to the one of the nearest object.
func (a *addIndex) linkOneOf(s *Node) bool {
	q := queueName{s.Controller, s.Queue}
	if n := a.soleAdd[s]; n != 0 {
		if e := a.eventOfAdd(q, n, s); e != nil {
			s.setCause(e, Exact, ByAdd)
			return true
		}
		return false
	}
	var first *Node
	for _, n := range a.candidateAdds(q, s) {
		if e := a.eventOfAdd(q, n, s); e != nil && (first == nil || s.nameAffinity(e) > s.nameAffinity(first)) {
			first = e
		}
	}
	if first == nil {
		return false
	}
	s.setCause(first, Likely, ByAdd)
	return true
}

// nameAffinity is how near an event's object seems to the key that s names in its log:
// it is the object, its name begins with that of the object, as those do that a
// controller makes, or neither.
func (s *Node) nameAffinity(e *Node) int {
	switch {
	case s.isKeyOf(e):
		return 2
	case s.KeyBasis == observe.BasisLog && strings.HasPrefix(e.Object.Key(), s.Key+"-"):
		return 1
	}
	return 0
}

// eventOfAdd is the event whose handler made an add that s may follow; nil if none is
// known.
func (a *addIndex) eventOfAdd(q queueName, number uint64, s *Node) *Node {
	list := a.byAdd[addID{q, number}]
	for _, e := range slices.Backward(list) { // the last life's comes last
		if !e.Time.After(s.Time) {
			return e
		}
	}
	return nil
}

// linkTimerAdd links a sync whose key the queue's timer brought to who had put it back:
// for certain, where only one can have, and the log says that its key is the same.
func (a *addIndex) linkTimerAdd(s *Node) bool {
	var due []delayedKey
	for _, l := range a.delayed[queueName{s.Controller, s.Queue}] {
		if l.by != s && !s.hasOtherKey(l.by) && within(s.addedAt(), l.due.Add(-clockGap), l.due.Add(maxTimerDelay)) {
			due = append(due, l)
		}
	}
	if len(due) == 0 {
		return false
	}
	// The queue keeps the one that is due first.
	first := slices.MinFunc(due, func(a, b delayedKey) int { return a.due.Compare(b.due) }).by
	certainty := Likely
	if len(due) == 1 && s.hasSameKey(first) {
		certainty = Exact
	}
	s.setCause(first, certainty, delayRule(first))
	return true
}

// hasSameKey says whether the log of s names the key that n had, or the object.
func (s *Node) hasSameKey(n *Node) bool {
	if n.Kind == Event {
		return s.isKeyOf(n)
	}
	return s.KeyBasis == observe.BasisLog && n.KeyBasis == observe.BasisLog && s.Key == n.Key
}

// hasOtherKey says whether the logs of two syncs name different keys.
func (s *Node) hasOtherKey(n *Node) bool {
	return n.Kind == Sync && s.KeyBasis == observe.BasisLog && n.KeyBasis == observe.BasisLog && s.Key != n.Key
}

func delayRule(by *Node) Rule {
	if by.Kind == Event {
		return ByDelay
	}
	return ByRetry
}
