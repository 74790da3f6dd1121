package clients

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// maxControllers is the number of controllers that are known of a client, and maxAllControllers
	// that of all clients. One that is off makes room.
	maxControllers, maxAllControllers = 64, 256
	maxControllerName                 = 128
	// maxSessions is the number of processes of a client that report, and maxAllSessions that
	// of all clients.
	maxSessions, maxAllSessions = 8, 64
	// keptSyncs and keptReportedEvents are how many are known by their numbers, of each session.
	keptSyncs, keptReportedEvents = 4096, 8192
	// sessionTimeout is how long a process may be silent. It reports every 2 s. One that is
	// silent for longer has ended, or a debugger has stopped it.
	sessionTimeout = 10 * time.Second
	// maxReportDelay is how long after an event a report of what it has set off is awaited. The modules gather records
	// for 25 ms. A report that was sent within handlingTime may have been made before the event was handled.
	maxReportDelay, handlingTime = 100 * time.Millisecond, 5 * time.Millisecond
	// maxClockSkew is how far the clock of another machine may be off before its times are
	// corrected.
	maxClockSkew = time.Second
	// maxAge is how old a reported time may be.
	maxAge = 10 * time.Minute
	// maxDelay is how far in the future a key may be due.
	maxDelay = 365 * 24 * time.Hour
	// maxKey is the longest key: NAMESPACE/NAME.
	maxKey = 2*maxName + 1
)

// reportedState is what the processes of a client report.
type reportedState struct {
	mu          sync.Mutex
	forgotten   bool // the client made room for another one: a session would never be forgotten
	sessions    map[string]*session
	ended       [maxSessions]endedSession      // the last ones, in a ring
	endings     int                            // of sessions so far
	controllers map[string]*reportedController // by the name in reports
	dropped     int64                          // records, of sessions that have ended
	refused     int64                          // reports, for which there was no room
	eventSent   atomic.Int64                   // when a watch of the client was sent an event; Unix nanoseconds

	second                     int64 // of the following
	secondReports, secondItems int
}

// session is a process that reports. The lock of its client's reportedState guards it.
type session struct {
	number  uint64    // of the last report
	seen    time.Time // with its last report
	sent    time.Time // when it has sent that
	heard   time.Time // with any request, or the end of its connection
	silent  bool      // since sessionTimeout: it makes room for others
	conn    string    // over which the last report came
	lost    time.Time // when that has ended, for all that is known; zero if it has not
	dropped int64
	leftOut int           // controllers in its last report for which there was no room
	skew    time.Duration // to be added to its times
	queues  map[string]*QueueReport

	syncs  map[syncRef]*reportedSync
	order  []syncRef                         // of syncs, oldest first
	events [keptReportedEvents]reportedEvent // in a ring, by ID
}

// endedSession is a session of which the last report was taken.
type endedSession struct {
	id     string
	number uint64
}

type syncRef struct {
	controller string
	number     uint64
}

// reportedSync is a sync of a reported controller.
type reportedSync struct {
	id            uint64 // as in records
	controller    *reportedController
	key           string
	at            time.Time // when it began
	began, ended  bool
	reads, writes int
}

// reportedEvent is an event and the Seq of its record.
type reportedEvent struct{ id, seq uint64 }

// sync returns the sync with a number, which may be known by its calls first.
func (s *session) sync(c *reportedController, ref syncRef) *reportedSync {
	found := s.syncs[ref]
	if found == nil {
		if len(s.order) >= keptSyncs {
			s.forgetSync(s.order[0])
			s.order = s.order[1:]
		}
		found = &reportedSync{id: c.queue.NewSync(), controller: c}
		s.syncs[ref] = found
		s.order = append(s.order, ref)
	}
	return found
}

// forgetSync forgets a sync, which may be running if many have begun since.
func (s *session) forgetSync(ref syncRef) {
	if sync := s.syncs[ref]; sync != nil && sync.began && !sync.ended {
		sync.controller.queue.Abandon(sync.id)
	}
	delete(s.syncs, ref)
}

// event returns the Seq of an event that was reported; 0 if it is not known any more.
func (s *session) event(id uint64) (seq uint64) {
	if e := s.events[id%keptReportedEvents]; e.id == id {
		seq = e.seq
	}
	return seq
}

// time returns a reported time by the clock of this process.
func (s *session) time(t, now time.Time) time.Time {
	t = t.Add(s.skew)
	switch {
	case t.After(now):
		return now
	case now.Sub(t) > maxAge:
		return now.Add(-maxAge)
	}
	return t
}

// due returns, by the clock of this process, a reported time that may lie in the future. One
// after the year 9999 could not be encoded.
func (s *session) due(t, now time.Time) time.Time {
	t = t.Add(s.skew)
	switch {
	case t.After(now.Add(maxDelay)):
		return now.Add(maxDelay)
	case now.Sub(t) > maxAge:
		return now.Add(-maxAge)
	}
	return t
}

// apply applies a report of a client, one at a time, which came over a connection. It reports whether
// it could: there may be too many sessions.
func (c *Clients) apply(cl *client, program, conn string, r *Report) bool {
	now := time.Now()
	leftOut := max(len(r.Controllers)-maxControllers, 0)
	r.Controllers = r.Controllers[:len(r.Controllers)-leftOut]
	if c.sessions.Load() >= maxAllSessions {
		c.forgetSilent()
	}
	state := &cl.reports
	if state.hasEnded(r) {
		return true
	}
	s, isNew := state.accept(r, conn, now, &c.sessions)
	if s == nil {
		return false
	}
	for _, q := range r.Controllers {
		if !c.connectNew(cl, s, program, &q, now) {
			leftOut++
		}
	}
	state.mu.Lock()
	defer state.mu.Unlock()
	if s.leftOut = leftOut; !isNew || state.forgotten {
		return !state.forgotten
	}
	controllers := map[string]*reportedController{}
	for _, q := range r.Controllers {
		if s.queues[q.Name] != nil {
			controllers[q.Name] = state.controllers[q.Name]
		}
	}
	for i := range r.Records {
		s.applyRecord(&r.Records[i], controllers, now)
	}
	if r.Ended {
		state.leave(s, observe.GoneEnded)
		state.forget(r.Session, &c.sessions)
		state.ended[state.endings%maxSessions] = endedSession{r.Session, r.Number}
		state.endings++
	}
	return true
}

// hasEnded reports whether the last report of the session was taken, and this one is that or an earlier one: it was sent
// again because the answer was lost.
func (r *reportedState) hasEnded(report *Report) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.ended[:], func(e endedSession) bool { return e.id == report.Session && report.Number <= e.number })
}

// accept finds the session of a report, and connects the controllers that are known: they make no room for
// others of the report. s is nil if there are too many sessions. isNew is false if the report was sent again:
// the answer was lost.
func (r *reportedState) accept(report *Report, conn string, now time.Time, all *atomic.Int64) (s *session, isNew bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endLost(report.Session)
	if s = r.session(report.Session, all); s == nil {
		r.refused++
		return nil, false
	}
	s.conn, s.lost, s.seen, s.heard = conn, time.Time{}, now, now
	if s.silent {
		r.resume(s)
	}
	if isNew = report.Number > s.number; isNew {
		s.number, s.dropped, s.skew = report.Number, addCount(0, report.Dropped), 0
		if skew := now.Sub(report.Sent); skew.Abs() > maxClockSkew {
			s.skew = skew
		}
		s.sent = s.time(report.Sent, now)
	}
	for _, q := range report.Controllers {
		if isNew {
			delete(s.queues, q.Name)
		}
		if rc := r.controllers[q.Name]; rc != nil {
			s.connect(rc, &q, now)
		}
	}
	return s, isNew
}

// connect notes that the process of the session reports a controller.
func (s *session) connect(rc *reportedController, q *QueueReport, now time.Time) {
	if s.queues[q.Name] == nil {
		s.queues[q.Name] = q
	}
	rc.setConnected(now)
}

// forgetSilent forgets the session that has been silent for the longest time.
func (c *Clients) forgetSilent() {
	var of *client
	var longest time.Time
	list := c.sorted()
	for _, cl := range list {
		cl.reports.mu.Lock()
		if _, seen := cl.reports.silentSession(); !seen.IsZero() && (of == nil || seen.Before(longest)) {
			of, longest = cl, seen
		}
		cl.reports.mu.Unlock()
	}
	if of == nil {
		return
	}
	of.reports.mu.Lock()
	defer of.reports.mu.Unlock()
	of.reports.forgetSilent(&c.sessions)
}

// session returns the session with an ID, which may be new; nil if there are too many, or
// the client is forgotten.
func (r *reportedState) session(id string, all *atomic.Int64) *session {
	s := r.sessions[id]
	if s != nil {
		return s
	}
	if len(r.sessions) >= maxSessions {
		r.forgetSilent(all)
	}
	if r.forgotten || len(r.sessions) >= maxSessions || all.Load() >= maxAllSessions {
		return nil
	}
	all.Add(1)
	s = &session{queues: map[string]*QueueReport{}, syncs: map[syncRef]*reportedSync{}}
	if r.sessions == nil {
		r.sessions = map[string]*session{}
	}
	r.sessions[id] = s
	return s
}

// silentSession returns the ID of the session that has been silent for the longest time,
// and since when; zero if there is none.
func (r *reportedState) silentSession() (id string, since time.Time) {
	for at, s := range r.sessions {
		if s.silent && (since.IsZero() || s.seen.Before(since)) {
			id, since = at, s.seen
		}
	}
	return id, since
}

func (r *reportedState) forgetSilent(all *atomic.Int64) {
	if id, since := r.silentSession(); !since.IsZero() {
		r.forget(id, all)
	}
}

// forget forgets a session whose process has left.
func (r *reportedState) forget(id string, all *atomic.Int64) {
	r.dropped = addCount(r.dropped, r.sessions[id].dropped)
	for name, q := range r.sessions[id].queues {
		if rc := r.controllers[name]; rc != nil {
			rc.past.add(q)
		}
	}
	delete(r.sessions, id)
	all.Add(-1)
}

// leave notes that the process of a session does not report any more.
func (r *reportedState) leave(s *session, how observe.Gone) {
	s.silent = true
	for name := range s.queues {
		if rc := r.controllers[name]; rc != nil && !r.isReported(name) {
			rc.setGone(how, s.runningKeys(rc), s.heard)
		}
	}
	for _, sync := range s.syncs {
		if sync.began && !sync.ended {
			sync.controller.queue.Abandon(sync.id)
		}
	}
}

// resume notes that the process of a silent session reports again: its syncs go on, as after a
// debugger has stopped it.
func (r *reportedState) resume(s *session) {
	s.silent = false
	for name := range s.queues {
		if rc := r.controllers[name]; rc != nil {
			rc.resumed++
		}
	}
	for ref, sync := range s.syncs {
		if sync.began && !sync.ended && r.controllers[ref.controller] == sync.controller {
			sync.controller.queue.Begin(sync.id, sync.key, sync.at)
		}
	}
}

// isReported reports whether a process reports a controller.
func (r *reportedState) isReported(name string) bool {
	for _, s := range r.sessions {
		if !s.silent && s.queues[name] != nil {
			return true
		}
	}
	return false
}

// endSilent notes which processes report no more. Their sessions stay: a debugger may have
// stopped the process.
func (r *reportedState) endSilent(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		switch {
		case s.silent || now.Sub(s.seen) <= sessionTimeout:
		case s.isLost(now):
			r.leave(s, observe.GoneLost)
		default:
			r.leave(s, observe.GoneSilent)
		}
	}
}

// isInUse reports whether a process reports, or an intervention waits for the next one.
func (r *reportedState) isInUse() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rc := range r.controllers {
		if rc.gate.IsActive() {
			return true
		}
	}
	for _, s := range r.sessions {
		if !s.silent {
			return true
		}
	}
	return false
}

// senderOf returns the controller and the sync that the client says make a request; nil if
// they are not known. A controller is known longer than the process that runs it.
func (r *reportedState) senderOf(header string) (*reportedController, *reportedSync) {
	id, rest, _ := strings.Cut(header, "/")
	i := strings.LastIndexByte(rest, '/')
	if i < 0 {
		return nil, nil
	}
	number, err := strconv.ParseUint(rest[i+1:], 10, 64)
	if err != nil {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s, rc := r.sessions[id], r.controllers[rest[:i]]
	if s == nil || rc == nil {
		return rc, nil
	}
	return rc, s.sync(rc, syncRef{rc.shortName, number})
}

// countCall counts a call of a sync.
func (r *reportedState) countCall(s *reportedSync, c *observe.Called) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.IsWrite() {
		s.writes++
	} else {
		s.reads++
	}
}
