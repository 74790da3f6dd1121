package replay

import (
	"sort"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Recording is what was recorded of a source. What it shows does not change, and its methods are safe
// for concurrent use.
type Recording struct {
	records  []observe.Record // of one session after the other, each in order of Seq
	times    []time.Time      // when each record is shown: never before the previous one
	sessions []int            // the first record of each process that was recorded
	states   []state
	stopping []bool // of each state: the control plane was stopping
	// Resources are those that the API server served; nil if that was not recorded.
	Resources []Resource
	// Cut says why the end of the file is missing; empty if it is not.
	Cut string
	// HasProblems says that snapshots have the problems of objects. Without it they may have none, because they record none.
	HasProblems bool

	begin, end time.Time

	mu     sync.Mutex // guards what follows
	folded *fold      // after the state that was asked for last, since most who ask move forward
	at     int        // its index
}

// state is a snapshot, or what has changed since the state before.
type state struct {
	at     time.Time // never before the previous one
	whole  *observe.Snapshot
	change *stateChange
	// first is the first record of the process that the state is of.
	first int
}

// Position is a moment of a recording.
type Position struct {
	At      time.Time
	records int // that are there
}

// Before reports whether something that is there at q is not there at p.
func (p Position) Before(q Position) bool { return p.records < q.records || p.At.Before(q.At) }

// Begin and End are the first and the last moment.
func (r *Recording) Begin() Position { return r.Seek(r.begin) }

// End is the last moment.
func (r *Recording) End() Position { return Position{r.end, len(r.records)} }

// Last is the last moment before the control plane stopped, or the end.
func (r *Recording) Last() Position {
	i := len(r.states)
	for i > 0 && r.stopping[i-1] {
		i--
	}
	if i == 0 || i == len(r.states) {
		return r.End()
	}
	return r.Seek(r.states[i].at.Add(-1))
}

// Took is the time from the first to the last moment.
func (r *Recording) Took() time.Duration { return r.end.Sub(r.begin) }

// Seek returns the position at a time, or the nearest one that there is.
func (r *Recording) Seek(at time.Time) Position {
	switch {
	case !at.Before(r.end):
		return r.End()
	case at.Before(r.begin):
		at = r.begin
	}
	n := sort.Search(len(r.times), func(i int) bool { return r.times[i].After(at) })
	return Position{at, n}
}

// Next returns the position right after the next record for which match returns true.
func (r *Recording) Next(p Position, match func(*observe.Record) bool) (Position, bool) {
	for i := p.records; i < len(r.records); i++ {
		if match(&r.records[i]) {
			return Position{r.times[i], i + 1}, true
		}
	}
	return p, false
}

// Previous returns the position right after the record before the newest one, of those for
// which match returns true.
func (r *Recording) Previous(p Position, match func(*observe.Record) bool) (Position, bool) {
	newest := false
	for i := p.records - 1; i >= 0; i-- {
		switch {
		case !match(&r.records[i]):
		case !newest:
			newest = true
		default:
			return Position{r.times[i], i + 1}, true
		}
	}
	return p, false
}

// firstRecord returns the first record of the process that a position is in.
func (r *Recording) firstRecord(p Position) int {
	first := 0
	if i := r.stateAt(p.At); i >= 0 {
		first = r.states[i].first
	}
	for _, begin := range r.sessions {
		if begin < p.records {
			first = max(first, begin)
		}
	}
	return first
}

// stateAt returns the index of the last state up to a time; -1 if there is none.
func (r *Recording) stateAt(at time.Time) int {
	return sort.Search(len(r.states), func(i int) bool { return r.states[i].at.After(at) }) - 1
}

// stateOf returns the snapshot of a state.
func (r *Recording) stateOf(last int) (observe.Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := last
	for r.states[first].whole == nil && (r.folded == nil || first != r.at) {
		first--
	}
	if r.folded == nil || first != r.at {
		r.folded = newFold(r.states[first].whole)
	}
	r.at = last
	for _, next := range r.states[first+1 : last+1] {
		if err := r.folded.apply(next.change); err != nil { // Open has applied all changes already
			r.folded = nil
			return observe.Snapshot{}, err
		}
	}
	return r.folded.snapshot(), nil
}

// At returns the source at a position.
func (r *Recording) At(p Position) *Moment {
	return &Moment{recording: r, position: p, first: r.firstRecord(p)}
}
