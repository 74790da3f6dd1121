package observe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultRecords is the number of records kept in each of the journal's three
// rings. Together they take about 15 MB when full.
const DefaultRecords = 16384

// MaxRecords is the highest number of records that can be kept: full, they take a few
// gigabytes.
const MaxRecords = 1 << 22

// Options configures an Observer.
type Options struct {
	// Records is the number of records to keep, at most MaxRecords; 0 = DefaultRecords.
	Records int
	// Queues is the set of work queues of the process; nil = none.
	Queues *Queues
	// MoreQueues returns queues that are not client-go work queues, with their
	// controller, name, numbers and Parked set. May be nil.
	MoreQueues func() []Queue
	// Workers returns the number of workers of a controller's queue, 0 if unknown.
	// May be nil.
	Workers func(controller, queue string) int
	// Held returns the number of writes that a paused controller holds. May be nil.
	Held func(controller string) int
	// Unlisted returns why kinds that a controller needs cannot be listed; empty if they can. May be nil.
	Unlisted func(controller string) string
	// Timers returns the timers of components that have no queues. May be nil.
	Timers func() []Timer
	// Problems returns the problems at the moment of a snapshot that has all but them, in a list that does not change
	// any more. May be nil.
	Problems func(now Snapshot) []Problem
	// HasWebhook reports whether there is an admission webhook with a name. It may be nil: no webhook is removed.
	HasWebhook func(name string) bool
	// Clients returns the clients outside of the process. May be nil.
	Clients func() []Client
	// Process describes the process. It is called once a second and for each
	// snapshot; the observer fills in the rates and Settled. May be nil.
	Process func() Process
	// VersionsUnknown says that NoteVersion is not called: then nothing tells that informers have not
	// received a write yet, and the control plane has to be quiet for longer to be settled.
	VersionsUnknown bool
}

// Observer records what happens in one control plane. New starts it and Close
// stops it. Its records can still be read after Close.
type Observer struct {
	// options is nil after Close: goroutines that outlive the control plane are
	// labelled with this observer and must not keep its callbacks alive.
	options       atomic.Pointer[Options]
	lastProcess   atomic.Pointer[Process] // as of Close
	endedOperator atomic.Pointer[EndedOperator]
	queues        *Queues
	journal       *journal
	history       *history
	sampler       *sampler
	follower      *follower

	idle      idleDeliveries
	versions  versions
	callKinds growingMap[callKind, knownCallKind]
	handlers  handlers
	timers    timers
	problems  problems

	started time.Time

	mu        sync.Mutex
	recorders map[string]*Recorder
	numbered  int                 // of recorders
	names     [maxNumbered]string // of recorders by their number, set before their first use

	startEnd     atomic.Uint64 // Seq of the last record of the start; 0 before MarkStartEnd
	syncs        atomic.Uint64
	lastActivity atomic.Int64           // time of the last write, delivery or sync; Unix nanoseconds
	lastActor    atomic.Pointer[string] // whose that was

	delayWarning sync.Once

	stop    context.CancelFunc
	running sync.WaitGroup
}

// New starts an observer.
func New(o Options) *Observer {
	if o.Records == 0 {
		o.Records = DefaultRecords
	}
	if o.Queues == nil {
		o.Queues = NewQueues()
	}
	ctx, stop := context.WithCancel(context.Background())
	ob := &Observer{
		queues:    o.Queues,
		journal:   newJournal(o.Records),
		idle:      idleDeliveries{within: idleShareTime, handlerTime: maxSharedHandlerTime},
		started:   time.Now(),
		recorders: map[string]*Recorder{},
		stop:      stop,
	}
	ob.options.Store(&o)
	ob.history = newHistory(ob.journal, o.Records)
	for _, name := range unknownMetrics(idleMetrics) {
		ob.warn(fmt.Errorf("runtime/metrics has no counter %s", name), "settled waits half a second after every write")
	}
	ob.sampler, ob.follower = newSampler(ob), newFollower(ob)
	ob.running.Go(func() { ob.history.run(ctx) })
	ob.running.Go(func() { ob.sampler.run(ctx) })
	return ob
}

// Close stops the sampling and removes the queues of this control plane. It is
// idempotent.
func (o *Observer) Close() error {
	o.stop()
	o.running.Wait()
	o.lastProcess.Store(new(o.readProcess()))
	o.options.Store(nil)
	o.handlers.removeAll()
	o.queues.remove(func(q *queue) bool { return q.recorder != nil && q.recorder.observer == o })
	return nil
}

// findRecorder returns the recorder of a controller; nil if it has none.
func (o *Observer) findRecorder(name string) *Recorder {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.recorders[name]
}

// Recorder returns the recorder of a controller or of another component, always the
// same for a name. A nil Observer returns a nil Recorder, which records nothing.
func (o *Observer) Recorder(name string) *Recorder {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.recorders[name]
	if r == nil {
		r = &Recorder{name: name, observer: o, labels: []label{{labelKey, name}}, number: min(o.numbered, maxNumbered)}
		o.recorders[name] = r
		if o.numbered < maxNumbered {
			o.names[o.numbered] = name
			o.numbered++
		}
	}
	return r
}

// elapsed returns the present time, for differences only: as it does not follow the wall clock, it takes half the time
// of time.Now, of which most of an idle delivery consists.
func (o *Observer) elapsed() time.Time { return o.started.Add(time.Since(o.started)) }

// MarkStartEnd marks the end of the start of the control plane itself: from now on, snapshots tell
// its conflicts, failures and records apart from later ones.
func (o *Observer) MarkStartEnd() {
	for _, r := range o.sortedRecorders() {
		r.startConflicts.Store(r.conflicts.Load())
		r.startFailures.Store(r.failures.Load())
	}
	o.startEnd.Store(o.journal.stats().Last)
}

// Syncing reports whether the calling goroutine works on a key of a queue.
func Syncing() bool { return currentScope().activeSync() != nil }

// Append records an event that belongs to no Recorder.
func (o *Observer) Append(e Event) { o.append(e, time.Now()) }

// AppendAt records an event that has happened at a time before, and returns its Seq.
func (o *Observer) AppendAt(e Event, at time.Time) uint64 { return o.append(e, at) }

// warn records that something that the observer relies on has changed in Go or in
// client-go, and the effect.
func (o *Observer) warn(err error, effect string) {
	o.Append(&Logged{Controller: Own, Level: 8, Message: err.Error() + ": " + effect + ": use the version of Go that ctrlplane is tested with"})
}

func (o *Observer) append(e Event, now time.Time) uint64 {
	return o.journal.append(&Record{Time: now, Event: e})
}

// MarkActive notes that a write of a controller or client has ended at a time: until its effects can be seen, the
// control plane is not settled.
func (o *Observer) MarkActive(who string, at time.Time) { o.markActive(&who, at) }

func (o *Observer) markActive(who *string, at time.Time) {
	// Most often the same controller did something a moment ago: reading is cheaper than writing what all goroutines write.
	if later := at.UnixNano() - o.lastActivity.Load(); later >= 0 && later < int64(activityStep) && o.lastActor.Load() == who {
		return
	}
	storeMax(&o.lastActivity, at.UnixNano())
	o.lastActor.Store(who)
}

func (r *Recorder) markActive(now time.Time) { r.observer.markActive(&r.name, now) }

// Records implements Source.
func (o *Observer) Records(ctx context.Context, q Query) (Page, error) {
	page, err := o.journal.Records(ctx, q)
	if first, _ := o.journal.all.bounds(); err == nil && q.Causes && q.After < first {
		o.history.advance()
		page.addOlder(o.history.recordsBefore(first), &q)
	}
	return page, err
}

// CausesBefore returns the records before a Seq that led to what exists.
func (o *Observer) CausesBefore(seq uint64) []Record {
	o.history.advance()
	var list []Record
	for _, r := range o.history.recordsBefore(seq - 1) {
		list = append(list, r.forReader())
	}
	return list
}

// Wait returns when there is a record after the given Seq, or when ctx ends.
func (o *Observer) Wait(ctx context.Context, after uint64) error { return o.journal.Wait(ctx, after) }

// Snapshot implements Source. The error is always nil.
func (o *Observer) Snapshot(ctx context.Context) (Snapshot, error) { return o.SnapshotWithKeys(ctx) }

// SnapshotWithKeys implements KeySource. The error is always nil.
func (o *Observer) SnapshotWithKeys(_ context.Context, keys ...string) (Snapshot, error) {
	now := time.Now()
	s := Snapshot{Time: now, Journal: o.journal.stats()}
	s.Journal.StartEnd = o.startEnd.Load()
	running := o.addQueues(&s)
	o.addControllers(&s, running, keys)
	if asks := o.options.Load(); asks != nil && asks.Clients != nil {
		s.Clients = asks.Clients()
	}
	s.Process = o.readProcess()
	s.Process.IgnoredWebhooks = o.follower.ignoredWebhooks()
	s.Process.EndedOperator = o.readEndedOperator()
	o.sampler.fillRates(&s.Process, now)
	o.judgeSettled(&s)
	return s, nil
}

// addQueues adds the queues, and returns the syncs in flight of each controller.
func (o *Observer) addQueues(s *Snapshot) map[string][]RunningSync {
	running := map[string][]RunningSync{}
	asks := o.options.Load()
	for _, q := range o.queues.sorted() {
		if q.recorder != nil && q.recorder.observer != o {
			continue
		}
		v := q.snapshot(s.Time)
		if asks != nil && asks.Workers != nil {
			v.Workers = asks.Workers(v.Controller, v.Name)
		}
		o.sampler.fillQueue(q.id(), &v)
		s.Queues = append(s.Queues, v)
		if q.recorder != nil {
			running[q.recorder.name] = append(running[q.recorder.name], q.runningSyncs()...)
		}
	}
	for _, v := range o.moreQueues() {
		if !v.Outside { // its source knows its rates
			o.sampler.fillQueue(queueID{v.Controller, v.Name}, &v)
		}
		s.Queues = append(s.Queues, v)
	}
	slices.SortStableFunc(s.Queues, func(a, b Queue) int {
		return cmp.Or(cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Name, b.Name))
	})
	return running
}

// addControllers adds the controllers with their syncs in flight, the newest failing keys, and those of keys.
func (o *Observer) addControllers(s *Snapshot, running map[string][]RunningSync, keys []string) {
	asks := o.options.Load()
	behind, failing := o.handlers.lagsByRecorder(s.Time), o.follower.failingKeys(s.Time)
	for _, r := range o.sortedRecorders() {
		c := r.snapshot()
		c.Running = append(running[r.name], r.keyedSyncs()...)
		c.Behind = behind[r]
		c.Failing, c.MoreFailing = limitFailing(failing[r.name], keys)
		s.markEarly(&c)
		if c.State == StatePaused && asks != nil && asks.Held != nil {
			c.Held = asks.Held(c.Name)
		}
		if asks != nil && asks.Unlisted != nil {
			c.Unlisted = asks.Unlisted(c.Name)
		}
		s.Controllers = append(s.Controllers, c)
	}
}

// markEarly marks the failing keys that wait or are worked on before their delayed adds are due.
func (s *Snapshot) markEarly(c *Controller) {
	for i := range c.Failing {
		f := &c.Failing[i]
		isPending := func(q Queue) bool {
			return q.Controller == c.Name && q.Name == f.Queue && slices.ContainsFunc(q.Waiting, func(o Object) bool { return o.Key() == f.Key })
		}
		isRunning := func(r RunningSync) bool { return r.Queue == f.Queue && r.Key == f.Key }
		if f.Key != "" && s.Time.Before(f.Due) && (slices.ContainsFunc(c.Running, isRunning) || slices.ContainsFunc(s.Queues, isPending)) {
			f.Early = true
		}
	}
}

// judgeSettled says who is busy, which timers and problems there are, and whether the control plane is settled.
func (o *Observer) judgeSettled(s *Snapshot) {
	p := &s.Process
	p.Busy = busyNames(s)
	s.Timers = o.readTimers(s.Time, p.Busy != nil)
	s.Problems = o.readProblems(s, p.Busy != nil)
	if p.Busy == nil {
		p.Quiet = o.isQuiet(s.Time)
		p.Busy = s.dueBy(s.Time.Add(settleHorizon))
	}
	if latest := o.lastActivity.Load(); latest != 0 {
		p.LastActivity = time.Unix(0, latest)
	}
	if actor := o.lastActor.Load(); actor != nil && p.Busy == nil && (!p.Quiet || s.Time.Sub(p.LastActivity) < SettledQuiet) {
		p.LastActive = *actor
	}
	p.Settled = p.State == Ready && p.StandbyReason() == "" && p.Busy == nil && p.Quiet
}

// settleHorizon is how soon a timer must be due to keep a control plane from being
// settled.
const settleHorizon = time.Second

// dueBy names the controllers that have a timer or a delayed key due by then.
func (s *Snapshot) dueBy(by time.Time) (names []string) {
	add := func(name string, due time.Time) {
		if !due.IsZero() && !due.After(by) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, q := range s.Queues {
		// Components without a state, such as the API server, poll all the time.
		if slices.ContainsFunc(s.Controllers, func(c Controller) bool { return c.Name == q.Controller && c.State != "" }) {
			add(q.Controller, q.NextDue)
		}
	}
	for _, t := range s.Timers {
		if t.Awaited {
			add(t.Controller, s.Time)
			continue
		}
		add(t.Controller, t.Due)
	}
	return names
}

// isQuiet reports whether there was no write, delivery or sync for a while.
func (o *Observer) isQuiet(now time.Time) bool {
	latest := o.lastActivity.Load()
	since := now.UnixNano() - latest
	if since < 0 { // there was some after now, unless the clock was set back
		if present := time.Now().UnixNano(); latest-present > int64(busyQuietTime) {
			o.lastActivity.CompareAndSwap(latest, present)
		}
		return false
	}
	if options := o.options.Load(); since > int64(busyQuietTime) || options != nil && options.VersionsUnknown {
		return since > int64(busyQuietTime)
	}
	return since > int64(quietTime+activityStep) && processIdle() && o.lastActivity.Load() == latest
}

// moreQueues returns the queues that are not client-go work queues.
func (o *Observer) moreQueues() []Queue {
	asks := o.options.Load()
	if asks == nil || asks.MoreQueues == nil {
		return nil
	}
	return asks.MoreQueues()
}

func (o *Observer) readProcess() Process {
	if asks := o.options.Load(); asks != nil && asks.Process != nil {
		return asks.Process()
	}
	if last := o.lastProcess.Load(); last != nil {
		return *last
	}
	return Process{}
}

func (o *Observer) sortedRecorders() []*Recorder {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.SortedFunc(maps.Values(o.recorders), func(a, b *Recorder) int { return cmp.Compare(a.name, b.name) })
}

// busyNames names the controllers that have keys to work on, syncs in flight, writes
// without an answer, or handlers that lack the last write, busiest first. Those that are being
// started or stopped, or whose process may have ended, follow.
func busyNames(s *Snapshot) []string {
	work := map[string]int64{}
	var names []string
	add := func(name string, n int64) {
		if n > 0 {
			if work[name] == 0 {
				names = append(names, name)
			}
			work[name] += n
		}
	}
	for _, q := range s.Queues {
		if q.Outside {
			continue
		}
		n := q.InFlight
		if !q.Parked {
			n += q.Depth
		}
		add(cmp.Or(q.Controller, q.Name), n)
	}
	for _, c := range s.Controllers {
		if work[c.Name] == 0 {
			add(c.Name, c.Writing+int64(len(c.Behind)+len(c.Running)))
		}
	}
	for _, c := range s.Clients {
		if add(c.Name, c.Writing); c.AwaitsReport {
			add(c.Name, 1)
		}
	}
	for _, c := range s.Controllers {
		if work[c.Name] == 0 && slices.Contains([]string{StateBuilding, StateStopping, StateUnknown}, c.ProcessState()) {
			add(c.Name, 1)
		}
	}
	if s.Process.Restoring || s.Process.TakingOver {
		add(Own, 1)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(work[b], work[a]) })
	return names
}
