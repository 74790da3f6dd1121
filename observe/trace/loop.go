package trace

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
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
	// Progress is the write of a round that makes it look like progress, which comes to rest; nil if no round has one.
	Progress *Node
}

// Interval returns the mean time from one round to the next.
func (l *Loop) Interval() time.Duration {
	return l.Last.Sub(l.First) / time.Duration(max(l.Rounds-1, 1))
}

// Creates reports whether each round creates another object.
func (l *Loop) Creates() bool { return l.Progress != nil && l.Progress.creates() }

// Change returns the write of the last round that changes an object without creating it; nil if there is none.
func (l *Loop) Change() *Node {
	for _, n := range slices.Backward(l.Round) { // from cause to effect
		if n.Kind == Call && n.Controller == l.Controller && n.isWrite() && !n.isProgress() && !n.gotError() && !n.noEffect && n.ResourceVersion != "" {
			return n
		}
	}
	return nil
}

// Concerns reports whether a loop writes an object, or creates others for it: its syncs have the object's key, and their queue
// is called as its kind, or the owner is known.
func (l *Loop) Concerns(about observe.Object) bool {
	if l.Key == about.Key() && strings.EqualFold(l.Queue, about.Kind) {
		return true
	}
	return slices.ContainsFunc(l.Round, func(n *Node) bool {
		return n.Kind == Call && n.isWrite() && (n.isAbout(about) || n.owner != nil && placeOf(n.owner) == placeOf(&about))
	})
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
	rounds   int
	first    time.Time
	before   *Node // one round earlier
	progress *Node // as of Loop
	pauses   backoff
}

// follow makes it the round after an earlier one. While the pauses grow, it is the first one: what backs off comes to rest.
func (r *repetition) follow(earlier repetition, pause time.Duration) {
	r.pauses = earlier.pauses
	if r.pauses.note(pause); r.pauses.grown < minBackoff {
		r.rounds, r.first, r.progress = earlier.rounds+1, earlier.first, cmp.Or(r.progress, earlier.progress)
	}
}

// Loops finds work that causes itself, most rounds first: syncs of a key that lead to
// another sync of the key in the same queue, and writes of a client that lead to the same
// write again. Of a client, only events on its watches are known: a write also follows
// from the one before if both have the same event as their cause, as then nothing else
// has happened in between. A round that creates or deletes an object is progress and ends a loop, as
// do the retry of a failed sync, which backs off, and pauses that grow from round to round. There is one loop for each work that
// repeats: the longest of those whose last round began at since or later.
//
// Two kinds of rounds with progress repeat, too, and are loops of their own: what has created an object creates another one
// because of its event, and a client changes an object again because of what followed from its change.
func Loops(records []observe.Record, since time.Time) []Loop {
	g := newGraph(records, observe.Object{}, Options{})
	productive := map[*Node]bool{} // also the syncs whose calls are
	for _, c := range g.calls {
		if c.isProgress() {
			productive[c], productive[c.causedBy] = true, true
		}
	}
	found := slices.Concat(g.findLoops(productive, since, false), g.findLoops(productive, since, true))
	slices.SortFunc(found, func(a, b Loop) int {
		return cmp.Or(cmp.Compare(b.Rounds, a.Rounds), cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Verb, b.Verb))
	})
	return found
}

// findLoops returns the loops without progress, or those with it.
func (g *graph) findLoops(productive map[*Node]bool, since time.Time, progress bool) (found []Loop) {
	subjects := g.loopSubjects(progress)
	rounds := map[*Node]repetition{}
	longest := map[subject]*Node{}
	latest := map[subject]*Node{} // write of a client
	for _, n := range g.nodes {   // causes are before their effects
		s, ok := subjects[n]
		if !ok {
			continue
		}
		r := n.previousRound(subjects, productive, progress)
		isGenerated := progress && s.object.name != "" && s.object.name != n.Object.Name
		if last := latest[s]; r.before == nil && last != nil && n.causedBy != nil && last.causedBy == n.causedBy {
			if r.before = last; isGenerated {
				r.progress = n
			}
		}
		if n.Kind == Call && !n.gotError() && (!productive[n] || isGenerated) {
			latest[s] = n
		}
		if r.rounds, r.first = 1, n.Time; r.before != nil {
			r.follow(rounds[r.before], n.Time.Sub(r.before.Time))
		}
		rounds[n] = r
		if best := longest[s]; r.rounds > 1 && !n.Time.Before(since) && (best == nil || r.rounds >= rounds[best].rounds) {
			longest[s] = n
		}
	}
	for s, n := range longest {
		if r := rounds[n]; (r.progress != nil) == progress {
			found = append(found, newLoop(s, n, r))
		}
	}
	return found
}

func newLoop(s subject, n *Node, r repetition) Loop {
	l := Loop{
		Controller: s.controller, Queue: s.queue, Key: s.key, Verb: s.verb, Object: n.Object,
		Rounds: r.rounds, First: r.first, Last: n.Time, Progress: r.progress,
	}
	for at := n; at != nil && at != r.before; at = at.causedBy {
		l.Round = append(l.Round, at)
	}
	if n.Kind == Call && n.causedBy == r.before.causedBy { // not in the chain of causes
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
	case n.Kind == Call && n.byClient && n.isWrite() && n.Object != nil:
		return subject{controller: n.Controller, verb: n.Verb, subresource: n.Subresource, dryRun: n.dryRun, object: placeOf(n.Object)}, true
	}
	return subject{}, false
}

// loopSubjects returns what may be repeated in loops: a sync in place of its writes. With progress, creations under generated
// names are the same work.
func (g *graph) loopSubjects(progress bool) map[*Node]subject {
	subjects := map[*Node]subject{}
	for _, n := range g.nodes {
		s, ok := n.subject()
		if !ok || n.Kind == Call && n.causedBy != nil && n.causedBy.Kind == Sync {
			continue
		}
		if progress && n.creates() {
			s.object.name = generatedSuffix.ReplaceAllString(s.object.name, "")
		}
		subjects[n] = s
	}
	return subjects
}

// generatedSuffix is what the API server appends to metadata.generateName: five characters of k8s.io/apimachinery/pkg/util/rand.
var generatedSuffix = regexp.MustCompile(`[bcdfghjklmnpqrstvwxz2456789]{5}$`)

// previousRound returns the same work that led to n, and the progress in between, if that is allowed and repeats; without
// before if there was none.
func (n *Node) previousRound(subjects map[*Node]subject, productive map[*Node]bool, progress bool) (r repetition) {
	path := []*Node{n}
	own, productiveRound := true, false
	for range maxRound {
		at := path[len(path)-1]
		if at.isBackoff() {
			return r
		}
		if at = at.causedBy; at == nil || productive[at] && !progress {
			return r
		}
		path = append(path, at)
		own, productiveRound = own && at.Controller == n.Controller, productiveRound || productive[at]
		if of, ok := subjects[at]; !ok || of != subjects[n] {
			continue
		}
		if productiveRound {
			if r.progress = repeatedProgress(path, own); r.progress == nil {
				return r
			}
		}
		r.before = at
		return r
	}
	return r
}

// repeatedProgress returns the write for which a round with progress is a loop all the same; nil if there is none. The path is
// that from the round to the one before. If own is set, no other controller or client has a part in it: it creates an object
// because of the event of the one before. Else a client changes an object, not only its status, because of what followed
// from its change, as that object tells.
func repeatedProgress(path []*Node, own bool) *Node {
	i := slices.IndexFunc(path[1:], func(n *Node) bool { return n.Kind == Call && n.creates() && !n.gotError() })
	if own && i >= 0 {
		return path[1+i]
	}
	news, first := path[1], path[len(path)-1]
	if first.Kind == Sync {
		first = path[len(path)-2]
	}
	if first.Kind == Call && first.byClient && first.Subresource == "" && (first.Verb == "update" || first.Verb == "patch") && !first.gotError() &&
		news.Kind == Event && placeOf(news.Object) == placeOf(first.Object) {
		return first
	}
	return nil
}

// isProgress reports whether n created or removed an object: a loop does that a bounded
// number of times, as a rollout that replaces Pod after Pod.
func (n *Node) isProgress() bool {
	if n.Kind != Call || n.gotError() {
		return false
	}
	return n.creates() || n.Verb == "delete" || n.Verb == "deletecollection" || n.Gone
}

// isBackoff reports whether n is the retry of a sync that failed.
func (n *Node) isBackoff() bool {
	return n.Cause != nil && n.Cause.Rule == ByRetry && n.causedBy.gotError()
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
