package trace

import (
	"slices"
	"strings"
	"time"
)

const (
	// maxTimerDelay is how late a queue's timer usually fires at most.
	maxTimerDelay = 50 * time.Millisecond
	// maxLateTimer is the same on a machine with far more to do than it can: 0.8 s were measured.
	maxLateTimer = 5 * time.Second
)

// addID identifies an add. A restarted controller counts from 1 again.
type addID struct {
	queueName
	number uint64
}

// delayedKey is a key that an event's handler or a sync added with a delay.
type delayedKey struct {
	due time.Time
	by  *Node
}

// indexEventAdds indexes the adds of an event's handler, with and without a delay.
func (a *addIndex) indexEventAdds(e *Node) {
	for i, n := range e.adds {
		k := addID{queueName{e.Controller, e.queues[i]}, n}
		a.byAdd[k] = append(a.byAdd[k], e)
	}
	for _, l := range e.delayedKeys {
		q := queueName{e.Controller, l.Queue}
		a.delayed[q] = append(a.delayed[q], delayedKey{l.Due, e})
	}
}

// linkByQueue links a sync to the node that added its key, as the queue reports the add. What else ran at that moment
// counts only if the add is unknown or not sure: a queue keeps the adds of some hundred keys, and the report of a client
// may lack the add.
func (a *addIndex) linkByQueue(s *Node) {
	sole := a.soleAdd[s]
	byTimer := s.record.Timed && (s.record.Sure || sole == 0 || sole == s.record.Add)
	switch {
	case byTimer && a.linkTimerAdd(s):
	case !byTimer && s.record.Sure:
		if by := a.adderOf(s.record.Add, s); by != nil {
			s.setAdder(by, Certain)
		}
	case !s.record.Sure && a.linkOneOf(s):
	case byTimer:
		a.linkUnknownDelay(s)
	case s.record.LastAdd == 0:
		a.linkByTime(s)
	}
}

// maxGoroutine is how long after the handler of an event a goroutine that it has started adds a key because of the event alone. A
// later add, as of a simulated kubelet whose container has ended, has another reason, too.
const maxGoroutine = time.Second

// setAdder sets the cause of a sync to the event or the sync that added its key.
func (n *Node) setAdder(by *Node, c Certainty) {
	rule := ByAdd
	switch {
	case by.Kind == Event && n.addedAt().Sub(by.End()) > maxGoroutine:
		c, rule = Likely, ByDelay
	case by.Kind == Sync:
		rule = BySync
		if by.Queue == n.Queue && n.hasSameKey(by) {
			rule = ByRetry
		}
	}
	n.setCause(by, c, rule)
}

// resolveByElimination finds, for syncs with several candidate adds, the one that no
// other sync follows: each add has one sync.
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

// candidateAdds returns the adds that match s and that no other sync is known to
// follow.
func (a *addIndex) candidateAdds(q queueName, s *Node) (numbers []uint64) {
	for n := s.record.Add; n <= max(s.record.Add, s.record.LastAdd); n++ {
		near := func(at time.Time) bool { return isWithin(s.addedAt(), at.Add(-minRestartTime), at.Add(minRestartTime)) }
		if !slices.ContainsFunc(a.followed[addID{q, n}], near) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// minRestartTime is less than a controller takes to restart.
const minRestartTime = 20 * time.Millisecond

// claimAdd records that s certainly follows an add.
func (a *addIndex) claimAdd(k addID, s *Node) { a.followed[k] = append(a.followed[k], s.addedAt()) }

// linkOneOf links a sync with several candidate adds, or one that is not sure. The link is certain if only one of several
// is left, otherwise it goes to the most closely related object. It reports whether it has found a candidate.
func (a *addIndex) linkOneOf(s *Node) bool {
	if n := a.soleAdd[s]; n != 0 {
		by := a.adderOf(n, s)
		if by != nil {
			s.setAdder(by, Certain)
		}
		return by != nil
	}
	var first *Node
	for _, n := range a.candidateAdds(queueName{s.Controller, s.Queue}, s) {
		if by := a.adderOf(n, s); by != nil && (first == nil || s.nameAffinity(by) > s.nameAffinity(first)) {
			first = by
		}
	}
	if first != nil {
		s.setAdder(first, Likely)
	}
	return first != nil
}

// adderOf returns the event or the sync that made one of the adds that match s, or nil. Of the first one the record of
// s has it. An event need not name its adds: of the keys of some queues, most often only deletions do.
func (a *addIndex) adderOf(number uint64, s *Node) *Node {
	if number == s.record.Add {
		if p := a.syncByID[s.record.CauseSync]; p != nil && p != s {
			return p
		}
		if e := a.reportedEvent(s); e != nil {
			return e
		}
	}
	return a.eventOfAdd(queueName{s.Controller, s.Queue}, number, s)
}

// nameAffinity says how closely what may have added the key of n is related to it: 2 if it is of that key, 1 if the
// name of its object begins with the key, as the names of created objects do, otherwise 0.
func (n *Node) nameAffinity(by *Node) int {
	switch {
	case n.hasSameKey(by):
		return 2
	case by.Kind == Event && n.KeyBasis.Certain() && strings.HasPrefix(by.Object.Key(), n.Key+"-"):
		return 1
	}
	return 0
}

// eventOfAdd returns the event whose handler made an add that s may follow, or nil.
func (a *addIndex) eventOfAdd(q queueName, number uint64, s *Node) *Node {
	list := a.byAdd[addID{q, number}]
	for _, e := range slices.Backward(list) { // those after a restart come last
		if !e.Time.After(s.Time) && !s.addedAt().After(e.End().Add(minRestartTime)) {
			return e
		}
	}
	return nil
}

// linkTimerAdd links a sync whose key the queue's timer added to the node that delayed the key, and reports whether it has
// found one. The link is certain if there is only one candidate, its logged key is the same, and no other delay may have
// ended late.
func (a *addIndex) linkTimerAdd(s *Node) bool {
	delays := a.ended[s]
	due := s.ofLikelyKey(delays.due)
	if len(due) == 0 {
		due = delays.late
	}
	if len(due) == 0 {
		return false
	}
	// Of several delays for a key, the queue keeps the shortest; one that was added
	// after that had ended is another one.
	slices.SortFunc(due, func(a, b *delayedKey) int { return a.due.Compare(b.due) })
	found := due[0]
	for _, d := range due[1:] {
		if d.by.End().After(found.due) {
			found = d
		}
	}
	certainty := Likely
	if s.record.Sure && len(delays.due) == 1 && len(delays.late) == 0 && !delays.others && s.hasSameKey(found.by) {
		certainty = Certain
	}
	s.setCause(found.by, certainty, delayRule(found.by))
	return true
}

// linkUnknownDelay links a sync to an event of the object, which may have delayed the key for a time that is not recorded.
func (a *addIndex) linkUnknownDelay(s *Node) {
	if e := a.delayingEvent(s); e != nil {
		s.setCause(e, Likely, ByDelay)
	}
}

// matchTimers finds, for each sync whose key the queue's timer added, the delays that
// may have ended then. The timer adds a key once: a delay that has led to a sync leads
// to no later one.
func (a *addIndex) matchTimers() {
	for q, syncs := range a.byAddTime {
		var delays []*delayedKey
		for i := range a.delayed[q] {
			delays = append(delays, &a.delayed[q][i])
		}
		for _, s := range syncs { // by the time of their adds
			if s.record.Timed {
				a.ended[s] = s.endedOf(delays)
				delays = s.leftOf(delays)
			}
		}
	}
}

// isOver reports whether a delay had ended when the key of a sync was added.
func (d *delayedKey) isOver(n *Node) bool {
	return d.by != n && !d.due.After(n.addedAt().Add(clockGap))
}

// endedDelays are the delays that may have ended when the timer added a key.
type endedDelays struct {
	due    []*delayedKey
	late   []*delayedKey // of the same key, if the timer was late
	others bool          // that may be of the same key, if the timer was late
}

// endedOf returns the delays that may have led to n.
func (n *Node) endedOf(delays []*delayedKey) (ended endedDelays) {
	for _, d := range delays {
		switch lateness := n.addedAt().Sub(d.due); {
		case !d.isOver(n) || n.hasOtherKey(d.by) || lateness > maxLateTimer:
		case lateness <= maxTimerDelay:
			ended.due = append(ended.due, d)
		case n.Key != "" && d.by.likelyKey() == n.Key:
			ended.late = append(ended.late, d)
		default:
			ended.others = true
		}
	}
	return ended
}

// leftOf returns the delays that may lead to later syncs. With a key that is certain, the earlier ones are over, and so are
// longer ones that were added meanwhile: the queue has a key once, and ignored them.
func (n *Node) leftOf(delays []*delayedKey) (left []*delayedKey) {
	var first time.Time
	for _, d := range delays {
		if d.isOver(n) && n.hasSameKey(d.by) && (first.IsZero() || d.due.Before(first)) {
			first = d.due
		}
	}
	for _, d := range delays {
		if d.by == n || !n.hasSameKey(d.by) || !d.isOver(n) && d.by.End().After(first) {
			left = append(left, d)
		}
	}
	return left
}

// ofLikelyKey returns, of delays that are due at the same time, those of the likely key of n. If none is, it leaves out the
// syncs with another likely key: most often, a sync requeues its own key.
func (n *Node) ofLikelyKey(due []*delayedKey) []*delayedKey {
	if n.Key == "" || len(due) < 2 {
		return due
	}
	var same, unknown []*delayedKey
	for _, d := range due {
		switch key := d.by.likelyKey(); {
		case key == n.Key:
			same = append(same, d)
		case key == "" || d.by.Kind == Event:
			unknown = append(unknown, d)
		}
	}
	if len(same) > 0 {
		return same
	}
	return unknown
}

// likelyKey returns the key of a sync as far as it is known, or that of the object of an event.
func (n *Node) likelyKey() string {
	if n.Kind == Event {
		return n.Object.Key()
	}
	return n.Key
}

// hasSameKey reports whether the log of n names the key or the object of other.
func (n *Node) hasSameKey(other *Node) bool {
	if other.Kind == Event {
		return n.isKeyOf(other)
	}
	return n.KeyBasis.Certain() && other.KeyBasis.Certain() && n.Key == other.Key
}

// hasOtherKey reports whether the logs of two syncs name different keys.
func (n *Node) hasOtherKey(other *Node) bool {
	return other.Kind == Sync && n.KeyBasis.Certain() && other.KeyBasis.Certain() && n.Key != other.Key
}

func delayRule(by *Node) Rule {
	if by.Kind == Event {
		return ByDelay
	}
	return ByRetry
}
