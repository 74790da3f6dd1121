package trace

import (
	"cmp"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Loop is work that causes itself: each round follows from the one before.
type Loop struct {
	Controller string // or the client's name
	Queue, Key string // of the syncs; empty for writes of a client
	Verb       string // of a client's writes
	Object     *observe.Object

	Rounds      int // in a row
	First, Last time.Time
	// Round is the last round: its first node is what repeats, each is followed by its
	// cause, and the last is the same work one round earlier.
	Round []*Node
}

// Interval returns the mean time from one round to the next.
func (l *Loop) Interval() time.Duration {
	return l.Last.Sub(l.First) / time.Duration(max(l.Rounds-1, 1))
}

// maxRound is how many nodes a round may have. Longer chains are not followed.
const maxRound = 64

// subject identifies the work that may repeat.
type subject struct {
	controller, queue, key string
	verb, subresource      string
	dryRun                 bool
	object                 place
}

// repetition is a node and the earlier rounds that led to it.
type repetition struct {
	rounds int
	first  time.Time
	before *Node // one round earlier
}

// Loops finds work that causes itself, most rounds first: syncs of a key that lead to
// another sync of the key in the same queue, and writes of a client that lead to the same
// write again. Of a client, only events on its watches are known: a write also follows
// from the one before if both have the same event as their cause, as then nothing else
// has happened in between. A round that creates or deletes an object is progress and ends a loop, as
// does the retry of a failed sync, which backs off. There is one loop for each work that
// repeats: the longest of those whose last round began at since or later.
func Loops(records []observe.Record, since time.Time) []Loop {
	g := newGraph(records, observe.Object{}, Options{})
	g.breakCycles()
	productive := map[*Node]bool{} // also the syncs whose calls are
	for _, c := range g.calls {
		if c.isProgress() {
			productive[c], productive[c.parent] = true, true
		}
	}
	rounds := map[*Node]repetition{}
	longest := map[subject]*Node{}
	latest := map[subject]*Node{} // write of a client
	for _, n := range g.nodes {   // causes are before their effects
		s, ok := n.subject()
		if !ok {
			continue
		}
		r := repetition{rounds: 1, first: n.Time}
		before := n.previousRound(s, productive)
		if last := latest[s]; before == nil && last != nil && n.parent != nil && last.parent == n.parent {
			before = last
		}
		if n.Kind == Call && !n.failed() && !productive[n] {
			latest[s] = n
		}
		if before != nil {
			earlier := rounds[before]
			r = repetition{earlier.rounds + 1, earlier.first, before}
		}
		rounds[n] = r
		if best := longest[s]; r.rounds > 1 && !n.Time.Before(since) && (best == nil || r.rounds >= rounds[best].rounds) {
			longest[s] = n
		}
	}
	var found []Loop
	for s, n := range longest {
		found = append(found, newLoop(s, n, rounds[n]))
	}
	slices.SortFunc(found, func(a, b Loop) int {
		return cmp.Or(cmp.Compare(b.Rounds, a.Rounds), cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Verb, b.Verb))
	})
	return found
}

func newLoop(s subject, n *Node, r repetition) Loop {
	l := Loop{
		Controller: s.controller, Queue: s.queue, Key: s.key, Verb: s.verb, Object: n.Object,
		Rounds: r.rounds, First: r.first, Last: n.Time,
	}
	for at := n; at != nil && at != r.before; at = at.parent {
		l.Round = append(l.Round, at)
	}
	if n.Kind == Call && n.parent == r.before.parent { // not in the chain of causes
		l.Round = l.Round[:1]
	}
	l.Round = append(l.Round, r.before)
	return l
}

// subject returns what n is a repetition of, if it may be one.
func (n *Node) subject() (subject, bool) {
	switch {
	case n.Kind == Sync && n.Key != "":
		return subject{controller: n.Controller, queue: n.Queue, key: n.Key}, true
	case n.Kind == Call && n.client && n.isWrite() && n.Object != nil:
		return subject{controller: n.Controller, verb: n.Verb, subresource: n.Subresource, dryRun: n.dryRun, object: placeOf(n.Object)}, true
	}
	return subject{}, false
}

// previousRound returns the same work that led to n without any progress; nil if there
// was none.
func (n *Node) previousRound(s subject, productive map[*Node]bool) *Node {
	at := n
	for range maxRound {
		if at.isBackoff() {
			return nil
		}
		if at = at.parent; at == nil || productive[at] {
			return nil
		}
		if of, ok := at.subject(); ok && of == s {
			return at
		}
	}
	return nil
}

// isProgress reports whether n created or removed an object: a loop does that a bounded
// number of times, as a rollout that replaces Pod after Pod.
func (n *Node) isProgress() bool {
	if n.Kind != Call || n.failed() {
		return false
	}
	return n.creates() || n.Verb == "delete" || n.Verb == "deletecollection" || n.Gone
}

// isBackoff reports whether n is the retry of a sync that failed.
func (n *Node) isBackoff() bool {
	return n.Cause != nil && n.Cause.Rule == ByRetry && n.parent.failed()
}

// Lines describes the last round in words, in the order in which it happened. Its first
// line is what caused the repetition.
func (l *Loop) Lines() []string {
	var shown []*observe.Object
	for _, n := range l.Round {
		if n.Object != nil {
			shown = append(shown, n.Object)
		}
	}
	p := newPainter(Style{}, phrases{ambiguous: ambiguousKinds(shown)})
	var lines []string
	for _, n := range slices.Backward(l.Round) {
		lines = append(lines, n.Time.Format("15:04:05.000")+"  "+p.describeLink(n))
	}
	return lines
}
