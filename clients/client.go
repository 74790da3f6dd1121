package clients

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	rateSeconds = 5
	// keptVersions is the number of versions kept of what a client has written.
	keptVersions = 4096
	// keptRuns is the number of runs of writes that are kept of a client, and of an event.
	keptRuns = 16
	// maxFailed is the number of writes that have failed whose causes are kept.
	maxFailed = 64
	// maxEnded is the number of watches kept that have just ended.
	maxEnded = 256
	// maxWatched is the number of resources kept that a client has watched.
	maxWatched = 1000
	// keptLists is the number of lists that are kept of a client, and keptGets that of other reads.
	keptLists, keptGets = 256, 64
	// keptPauses is the number of pauses within runs of writes that are kept of a client, keptBegun that of how runs have begun.
	keptPauses, keptBegun = 32, 32
)

// client is one client.
type client struct {
	name   string
	gate   *intervene.Gate
	caller atomic.Pointer[observe.Caller] // of its last request
	conn   atomic.Pointer[connection]     // the last one with watches over which it has sent a request; nil if there was none

	requests, reads, changes, errors, conflicts, inFlight atomic.Int64
	last                                                  atomic.Pointer[answered]
	worked                                                atomic.Pointer[time.Time] // when the last call was answered that was not for a Lease, from the first request on

	kept      keptCount
	reports   reportedState
	receiving chan struct{} // has an element while a report is received
	refused   refusedReads
	polls     polls

	permissions permissions
	written     ownVersions
	unanswered  unanswered

	mu      sync.Mutex
	seconds [rateSeconds + 1]struct{ unix, n int64 } // requests in each of the last seconds
	watches []*watch
	ended   []*watch        // within maxReaction
	watched map[string]bool // resources whose last watch has ended
	// watchBegan is when the first of watches was opened, or what it replaced over the same connection.
	watchBegan time.Time
	// watchEnded is when the last of watches ended, and endedConn was its connection.
	watchEnded time.Time
	endedConn  string
	wroteFirst []sender // see noteWroteFirst
	busy       period
	idle       idlePeriod
	runs       [keptRuns]startedRun // in a ring
	nextRun    int
	wrote      [keptRuns]answeredWrite // the last writes, in a ring
	nextWrote  int
	lists      []list // the last ones, in a ring
	listed     int
	failed     map[string]failedWrite // by target
	gets       [keptGets]get          // in a ring
	nextGet    int
	pauses     []time.Duration // the last ones within runs of writes
	bursts     []time.Time     // when the last ones began of the times in which it was not idle: see noteBurst
	begun      []bool          // of the last runs of writes, whether they began long after their causes although the client was idle
	active     period          // in which it has made one request after the other, reads included
	// heldWrites and heldReads are the times in which calls were held.
	heldWrites, heldReads heldTimes
	// leaderSince is when it began to lead: it has taken a Lease.
	leaderSince time.Time
}

// answered is the last call of a client.
type answered struct {
	call *observe.Called
	at   time.Time
}

func newClient(name string, objects intervene.ObjectReader, permissionCount *atomic.Int64) *client {
	cl := &client{name: name, gate: intervene.NewGate(objects), receiving: make(chan struct{}, 1), watched: map[string]bool{}, failed: map[string]failedWrite{}}
	cl.permissions.all = permissionCount
	cl.caller.Store(&observe.Caller{})
	now := time.Now()
	cl.last.Store(&answered{at: now})
	cl.worked.Store(&now)
	return cl
}

// isInUse reports whether the client must not be forgotten.
func (cl *client) isInUse() bool {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return cl.kept.isKept() || len(cl.watches) > 0 || cl.inFlight.Load() > 0 || cl.gate.IsActive() || cl.reports.isInUse()
}

// isConnected reports whether a process of the client has an open watch, also as another client of the same program, or a
// request without an answer, or reports.
func (cl *client) isConnected() bool {
	cl.mu.Lock()
	watches := len(cl.watches)
	cl.mu.Unlock()
	return watches > 0 || cl.inFlight.Load() > 0 || cl.conn.Load().isWatched(cl) || cl.reports.isConnected(time.Now())
}

// program returns the program that the name begins with.
func (cl *client) program() string { return observe.ProgramOf(cl.name) }

// hasInUserAgent reports whether a name consists of words of the client's user agent, such as "python" of that of Python's
// client library.
func (cl *client) hasInUserAgent(name string) bool {
	words := joinWords(name)
	return len(words) >= len(" abc ") && strings.Contains(joinWords(cl.caller.Load().UserAgent), words)
}

// joinWords returns the words of a text, without digits, in lower case, each between two spaces.
func joinWords(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
	return " " + strings.Join(words, " ") + " "
}

func (cl *client) lastSeen() time.Time { return cl.last.Load().at }

func (cl *client) noteCaller(caller *observe.Caller) {
	if cl.caller.Load() != caller {
		cl.caller.Store(caller)
	}
}

// countRequest counts a request that begins.
func (cl *client) countRequest(now time.Time) {
	cl.requests.Add(1)
	unix := now.Unix()
	cl.mu.Lock()
	defer cl.mu.Unlock()
	s := &cl.seconds[unix%int64(len(cl.seconds))]
	if s.unix != unix {
		s.unix, s.n = unix, 0
	}
	s.n++
}

// requestRate returns the requests per second in the last full seconds.
func (cl *client) requestRate(now time.Time) float64 {
	unix, n := now.Unix(), int64(0)
	for _, s := range cl.seconds {
		if age := unix - s.unix; age >= 1 && age <= rateSeconds {
			n += s.n
		}
	}
	return float64(n) / rateSeconds
}

// countCall counts a call that was answered.
func (cl *client) countCall(c *observe.Called, now time.Time) {
	switch {
	case c.Conflict:
		cl.conflicts.Add(1)
	case c.IsFailure() && !c.IsAbsence():
		cl.errors.Add(1)
	}
	if c.IsWrite() {
		cl.changes.Add(1)
	} else {
		cl.reads.Add(1)
	}
	cl.last.Store(&answered{c, now})
	if !c.Object.IsLease() {
		cl.worked.Store(&now)
	}
}

// noteWritten remembers the versions that a client has made, as far as the storage reports them. No answer has those of
// deletions, nor of the objects of a collection.
func (cl *client) noteWritten(wrote []observe.Written, origin time.Time) {
	for _, o := range wrote {
		cl.written.add(ownVersion{version: o.ResourceVersion, origin: origin})
	}
}

func (cl *client) snapshot(now time.Time) observe.Client {
	v := observe.Client{
		Name: cl.name, Caller: *cl.caller.Load(),
		Requests: cl.requests.Load(), Reads: cl.reads.Load(), Changes: cl.changes.Load(),
		Errors: cl.errors.Load(), Conflicts: cl.conflicts.Load(), InFlight: cl.inFlight.Load(),
		Connected: cl.isConnected(),
	}
	v.Writing, v.Unanswered = cl.unanswered.snapshot(now)
	is := cl.gate.Interventions().RunningState()
	v.State, v.Reason, v.Interventions = is.State, is.Reason, is.Interventions
	_, v.Held = cl.gate.HeldWrites(0)
	last := cl.last.Load()
	v.Last, v.LastTime, v.LastWork = last.call, last.at, *cl.worked.Load()
	v.Polls = cl.polls.snapshot(now)
	cl.reports.addTo(&v)
	v.AwaitsReport = cl.reports.awaitsReport(now)
	began, ended := cl.conn.Load().watched(cl)
	cl.mu.Lock()
	defer cl.mu.Unlock()
	v.RequestRate = cl.requestRate(now)
	switch {
	case len(cl.watches) > 0:
		v.WatchBegan = cl.watchBegan
	case !began.IsZero():
		v.WatchBegan = began
	default:
		v.WatchEnded = later(cl.watchEnded, ended)
	}
	v.Refused = cl.refused.describe(v.WatchEnded, now, refusedOften)
	for _, w := range cl.watches {
		v.Watches = append(v.Watches, w.snapshot())
	}
	v.Watched = slices.Sorted(maps.Keys(cl.watched))
	slices.SortStableFunc(v.Watches, func(a, b observe.ClientWatch) int { return strings.Compare(a.Resource, b.Resource) })
	return v
}

func (cl *client) addWatch(w *watch) {
	w.client = cl
	cl.polls.forget(w.Resource)
	cl.mu.Lock()
	if len(cl.watches) == 0 && w.conn != cl.endedConn { // of a process that has begun
		cl.watchBegan = w.Since
		cl.begun, cl.busy.late, cl.bursts = nil, false, nil
	}
	var before []*watch
	for _, ended := range cl.ended {
		if ended.selection() == w.selection() {
			before = append(before, ended)
		}
	}
	cl.watches = append(cl.watches, w)
	delete(cl.watched, w.Resource)
	cl.mu.Unlock()
	w.process.WhenDone(func() {
		if cl.connectWatch(w, before) {
			return
		}
		for _, ended := range before {
			ended.process.WhenDone(func() { cl.continueWatch(ended, w) })
		}
	})
	cl.reports.noteRequest(w.conn)
}

// connectWatch notes what the process of a watch had found in a list when it opened that. isNew is set if it continues none of the
// watches of the same selection that had ended before.
func (cl *client) connectWatch(w *watch, before []*watch) (isNew bool) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.list = cl.listBefore(w); w.list.unopened != nil {
		w.found = w.list.unopened.takeFound()
	}
	if w.sendsExisting || !w.list.answered.IsZero() { // an earlier one need not be of the same process
		cl.ended = slices.DeleteFunc(cl.ended, func(ended *watch) bool { return slices.Contains(before, ended) })
		return true
	}
	return false
}

// continueWatch notes that a watch continues one that has ended, if that was of the same process.
func (cl *client) continueWatch(ended, w *watch) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if ended.process.ID() == w.process.ID() {
		ended.next = w
	}
}

// mayReact reports whether what the client writes may follow from what it has listed or watched.
func (cl *client) mayReact() bool {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return len(cl.watches)+len(cl.ended)+len(cl.lists) > 0
}

// keepEnded keeps a watch that has ended, as a write may be the reaction to its events. The caller holds the lock.
func (cl *client) keepEnded(w *watch) {
	if len(cl.ended) >= maxEnded {
		cl.ended[0].forgetAll()
		cl.ended = slices.Delete(cl.ended, 0, 1)
	}
	cl.ended = append(cl.ended, w)
	time.AfterFunc(maxSettle, func() {
		cl.mu.Lock()
		defer cl.mu.Unlock()
		if w.next == nil {
			w.forgetRecent()
		}
	})
	time.AfterFunc(maxReaction, func() {
		w.forgetAll()
		cl.mu.Lock()
		defer cl.mu.Unlock()
		cl.ended = slices.DeleteFunc(cl.ended, func(other *watch) bool { return other == w })
	})
}

func (cl *client) removeWatch(w *watch) {
	cl.mu.Lock()
	now := time.Now()
	w.ended, w.closed, w.gone = now, w.gone() != nil, nil
	cl.watches = slices.DeleteFunc(cl.watches, func(other *watch) bool { return other == w })
	cl.keepEnded(w)
	isWatched := slices.ContainsFunc(cl.watches, func(other *watch) bool { return other.Resource == w.Resource })
	if !isWatched && len(cl.watched) < maxWatched {
		cl.watched[w.Resource] = true
	}
	isLast := !slices.ContainsFunc(cl.watches, func(other *watch) bool { return other.conn == w.conn })
	none := len(cl.watches) == 0
	if none {
		cl.watchEnded, cl.endedConn = now, w.conn
	}
	cl.mu.Unlock()
	if isLast {
		cl.reports.noteClosed(w.conn, none, now)
	}
}
