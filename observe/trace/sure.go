package trace

import (
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// timerLate is how late a queue's timer may be, on a machine that is short of
// processors.
const timerLate = 50 * time.Millisecond

// addName names an add: a controller that is started again counts anew.
type addName struct {
	queueName
	number uint64
}

// putOff is a key that an event's handler or a sync has put back until it is due.
type putOff struct {
	due time.Time
	by  *Node
}

// number notes which adds an event's handler made at once, and which later.
func (a *adders) number(e *Node) {
	for i, n := range e.adds {
		k := addName{queueName{e.Controller, e.queues[i]}, n}
		a.byAdd[k] = append(a.byAdd[k], e)
	}
	for _, l := range e.later {
		q := queueName{e.Controller, l.Queue}
		a.late[q] = append(a.late[q], putOff{l.Due, e})
	}
}

// sure links a sync to what added its key, where the queue itself tells that.
func (a *adders) sure(s *Node) bool {
	switch {
	case s.put.Add == 0:
		return false
	case s.put.Timed:
		return a.timer(s)
	case !s.put.Sure:
		return a.oneOf(s)
	}
	if p := a.byID[s.put.CauseSync]; p != nil && p != s {
		s.follow(p, Exact, BySync)
		return true
	}
	if e := a.adder(queueName{s.Controller, s.Queue}, s.put.Add, s); e != nil {
		s.follow(e, Exact, ByAdd)
		return true
	}
	return false
}

// eliminate finds for syncs that several adds fit the one that no other sync
// follows: each add has one sync.
func (a *adders) eliminate() {
	for again := true; again; {
		again = false
		for q, list := range a.queued {
			for _, s := range list {
				if s.put.LastAdd == 0 || a.only[s] != 0 {
					continue
				}
				if left := a.left(q, s); len(left) == 1 {
					a.only[s], again = left[0], true
					a.claim(addName{q, left[0]}, s)
				}
			}
		}
	}
}

// left are the adds that fit s and that no other sync is known to follow.
func (a *adders) left(q queueName, s *Node) (numbers []uint64) {
	for n := s.put.Add; n <= s.put.LastAdd; n++ {
		near := func(at time.Time) bool { return within(s.added(), at.Add(-sameLife), at.Add(sameLife)) }
		if !slices.ContainsFunc(a.followed[addName{q, n}], near) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// sameLife is less than a controller takes to end and begin to count anew.
const sameLife = 20 * time.Millisecond

// claim notes that s follows an add, for certain.
func (a *adders) claim(k addName, s *Node) { a.followed[k] = append(a.followed[k], s.added()) }

// oneOf links a sync that several adds fit: for certain where only one is left,
// or else to the one of the nearest object.
func (a *adders) oneOf(s *Node) bool {
	q := queueName{s.Controller, s.Queue}
	if n := a.only[s]; n != 0 {
		if e := a.adder(q, n, s); e != nil {
			s.follow(e, Exact, ByAdd)
			return true
		}
		return false
	}
	var first *Node
	for _, n := range a.left(q, s) {
		if e := a.adder(q, n, s); e != nil && (first == nil || s.kinship(e) > s.kinship(first)) {
			first = e
		}
	}
	if first == nil {
		return false
	}
	s.follow(first, Likely, ByAdd)
	return true
}

// kinship is how near an event's object seems to the key that s names in its log:
// it is the object, its name begins with that of the object, as those do that a
// controller makes, or neither.
func (s *Node) kinship(e *Node) int {
	switch {
	case s.isKeyOf(e):
		return 2
	case s.KeyBasis == observe.BasisLog && strings.HasPrefix(e.Object.Key(), s.Key+"-"):
		return 1
	}
	return 0
}

// adder is the event whose handler made an add that s may follow; nil if none is
// known.
func (a *adders) adder(q queueName, number uint64, s *Node) *Node {
	list := a.byAdd[addName{q, number}]
	for _, e := range slices.Backward(list) { // the last life's comes last
		if !e.Time.After(s.Time) {
			return e
		}
	}
	return nil
}

// timer links a sync whose key the queue's timer brought to who had put it back:
// for certain, where only one can have, and the log says that its key is the same.
func (a *adders) timer(s *Node) bool {
	var due []putOff
	for _, l := range a.late[queueName{s.Controller, s.Queue}] {
		if l.by != s && !s.otherKey(l.by) && within(s.added(), l.due.Add(-gap), l.due.Add(timerLate)) {
			due = append(due, l)
		}
	}
	if len(due) == 0 {
		return false
	}
	// The queue keeps the one that is due first.
	first := slices.MinFunc(due, func(a, b putOff) int { return a.due.Compare(b.due) }).by
	certainty := Likely
	if len(due) == 1 && s.sameKey(first) {
		certainty = Exact
	}
	s.follow(first, certainty, rule(first))
	return true
}

// sameKey says whether the log of s names the key that n had, or the object.
func (s *Node) sameKey(n *Node) bool {
	if n.Kind == Event {
		return s.isKeyOf(n)
	}
	return s.KeyBasis == observe.BasisLog && n.KeyBasis == observe.BasisLog && s.Key == n.Key
}

// otherKey says whether the logs of two syncs name different keys.
func (s *Node) otherKey(n *Node) bool {
	return n.Kind == Sync && s.KeyBasis == observe.BasisLog && n.KeyBasis == observe.BasisLog && s.Key != n.Key
}

func rule(by *Node) Rule {
	if by.Kind == Event {
		return ByDelay
	}
	return ByRetry
}
