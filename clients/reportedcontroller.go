package clients

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/observe"
)

// reportedController is a controller of a client that reports it. Its name is
// PROGRAM/CONTROLLER, or CLIENT/CONTROLLER if another client has taken that name.
type reportedController struct {
	name      string
	shortName string // in reports; that of its queue, too
	client    *client
	gate      *intervene.Gate
	queue     *observe.ReportedQueue
	queues    []string // the name of the queue, as often as an event may name adds
	kept      keptCount

	// The lock of the client's reportedState guards this.
	gone       observe.Gone // how the last process that reported it has ended; empty if one reports it
	goneReason string
	offSince   time.Time // when that was noted
	past       totals    // of sessions that were forgotten
	resumed    int64     // how often a silent process has reported it again
}

// connectNew notes that the process of a session reports a controller that may be new. It reports whether
// there is room.
func (c *Clients) connectNew(cl *client, s *session, program string, q *QueueReport, now time.Time) bool {
	r := &cl.reports
	r.mu.Lock()
	isKnown := r.controllers[q.Name] != nil
	r.mu.Unlock()
	if isKnown { // and connected
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName[cl.name] != cl { // it has made room for another client
		return false
	}
	rc := c.newController(cl, program, q.Name)
	if rc == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.connect(rc, q, now)
	return true
}

// newController returns a new controller of a client with that name in its reports; nil if there is no
// room for it. It takes the name PROGRAM/CONTROLLER, and what was counted under it, of a controller that
// has ended: the user has started the program as another user, and means that one. The caller holds the
// lock of c.
func (c *Clients) newController(cl *client, program, shortName string) *reportedController {
	name := program + "/" + shortName
	holder := c.controllers[name]
	if holder != nil && !holder.isUnused() {
		name, holder = cl.name+"/"+shortName, nil
	}
	if !c.makeRoom(cl, holder != nil) {
		return nil
	}
	var past totals
	if holder != nil {
		var ok bool
		if past, ok = c.removeController(holder); !ok {
			return nil
		}
	}
	rc := &reportedController{
		past: past,
		name: name, shortName: shortName, client: cl,
		gate: cl.gate.NewInnerGate(), queue: c.config.Observer.Recorder(name).ReportedQueue(shortName),
		queues: slices.Repeat([]string{shortName}, maxEventAdds),
	}
	cl.reports.mu.Lock()
	defer cl.reports.mu.Unlock()
	if cl.reports.controllers == nil {
		cl.reports.controllers = map[string]*reportedController{}
	}
	cl.reports.controllers[shortName], c.controllers[name] = rc, rc
	return rc
}

// removeController forgets a controller, unless it is used again, and returns what it has counted. The
// caller holds the lock of c.
func (c *Clients) removeController(rc *reportedController) (past totals, ok bool) {
	r := &rc.client.reports
	r.mu.Lock()
	defer r.mu.Unlock()
	if !rc.isUnusedLocked() {
		return totals{}, false
	}
	return c.removeControllerLocked(rc), true
}

// removeControllerLocked is removeController for a caller that also holds the lock of the client's reportedState.
func (c *Clients) removeControllerLocked(rc *reportedController) (past totals) {
	r := &rc.client.reports
	past = rc.past
	for _, s := range r.sessions {
		if q := s.queues[rc.shortName]; q != nil {
			past.add(q)
			delete(s.queues, rc.shortName)
		}
		for ref, sync := range s.syncs {
			if sync.controller == rc {
				s.forgetSync(ref)
			}
		}
	}
	delete(r.controllers, rc.shortName)
	delete(c.controllers, rc.name)
	return past
}

// removeEnded forgets a controller whose process has ended, and the interventions in it. It reports whether it
// has: a new process may report the controller.
func (c *Clients) removeEnded(rc *reportedController) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rc.client.reports.mu.Lock()
	defer rc.client.reports.mu.Unlock()
	if c.controllers[rc.name] != rc || rc.isLiveLocked() {
		return false
	}
	c.removeControllerLocked(rc)
	c.config.Observer.RemoveRecorder(rc.name)
	rc.gate.ClearCallEffects()
	rc.gate.Resume()
	return true
}

// makeRoom reports whether there is room for another controller of a client, which may replace one of another
// client. If there are too many, the one that has been off for the longest time makes room, unless an
// intervention applies to it. The caller holds the lock of c.
func (c *Clients) makeRoom(cl *client, replaces bool) bool {
	cl.reports.mu.Lock()
	isFull := len(cl.reports.controllers) >= maxControllers
	cl.reports.mu.Unlock()
	if !isFull && (replaces || len(c.controllers) < maxAllControllers) {
		return true
	}
	var oldest *reportedController
	var since time.Time
	for _, rc := range c.controllers {
		if isFull && rc.client != cl {
			continue
		}
		if at, can := rc.canMakeRoom(); can && (oldest == nil || at.Before(since)) {
			oldest, since = rc, at
		}
	}
	if oldest == nil {
		return false
	}
	_, ok := c.removeController(oldest)
	if ok {
		c.config.Observer.RemoveRecorder(oldest.name)
	}
	return ok
}

// canMakeRoom reports whether the controller is off without an intervention, and since when.
func (rc *reportedController) canMakeRoom() (since time.Time, can bool) {
	r := &rc.client.reports
	r.mu.Lock()
	defer r.mu.Unlock()
	return rc.offSince, rc.gone != "" && rc.isUnusedLocked()
}

// isUnused reports whether no process runs the controller, and no intervention applies to it.
func (rc *reportedController) isUnused() bool {
	rc.client.reports.mu.Lock()
	defer rc.client.reports.mu.Unlock()
	return rc.isUnusedLocked()
}

func (rc *reportedController) isUnusedLocked() bool {
	return !rc.kept.isKept() && !rc.isLiveLocked() && !rc.gate.IsActive()
}

// forgetReports forgets the controllers of a client. The caller holds the lock of c.
func (c *Clients) forgetReports(cl *client) {
	cl.reports.mu.Lock()
	defer cl.reports.mu.Unlock()
	for _, rc := range cl.reports.controllers {
		delete(c.controllers, rc.name)
		c.config.Observer.RemoveRecorder(rc.name)
	}
	cl.reports.controllers = nil
	c.sessions.Add(-int64(len(cl.reports.sessions)))
	cl.reports.sessions, cl.reports.forgotten = nil, true
}

func (rc *reportedController) recordEvent(d *observe.Delivered, at time.Time) (seq uint64) {
	return rc.queue.Recorder().RecordDelivery(d, at)
}

func (rc *reportedController) setConnected(now time.Time) {
	rc.gone, rc.goneReason = "", ""
	rc.publishState(now)
}

func (rc *reportedController) setGone(how observe.Gone, during []string, since time.Time) {
	rc.gone, rc.goneReason, rc.offSince = how, how.Reason(during), since
	rc.publishState(time.Now())
}

// publishState records the state if it has changed. The caller holds the lock of the
// client's reportedState.
func (rc *reportedController) publishState(now time.Time) {
	state := rc.state(now)
	rc.queue.Recorder().SetStateSince(state, rc.client.reports.since(rc, state.ProcessState(), now))
}

// state describes the processes and the interventions, which apply to its next process, too. The
// caller holds the lock of the client's reportedState.
func (rc *reportedController) state(now time.Time) observe.ControllerChanged {
	e := rc.gate.Interventions().RunningState()
	process := rc.client.reports.stateOf(rc, now)
	e.Reason = strings.Join(slices.DeleteFunc([]string{e.Reason, process.Reason}, func(s string) bool { return s == "" }), ", ")
	e.Gone = process.Gone
	switch {
	case !e.Interventions.Paused:
		e.State = process.State
	case process.State != observe.StateRunning:
		e.Process = process.State
	}
	return e
}

// isLive reports whether a process reports the controller.
func (rc *reportedController) isLive() bool {
	rc.client.reports.mu.Lock()
	defer rc.client.reports.mu.Unlock()
	return rc.isLiveLocked()
}

func (rc *reportedController) isLiveLocked() bool {
	state := rc.client.reports.stateOf(rc, time.Now()).State
	return state != observe.StateOff && state != observe.StateUnknown
}

// isSilent reports whether the process has not reported for sessionTimeout: it has ended, or is suspended.
func (rc *reportedController) isSilent() bool {
	rc.client.reports.mu.Lock()
	defer rc.client.reports.mu.Unlock()
	return rc.gone == observe.GoneSilent
}

func (rc *reportedController) program() string { return rc.client.program() }

// hasShortName reports whether a name is that of the controller in reports, of its program or of
// its client.
func (rc *reportedController) hasShortName(name string) bool {
	return name == rc.shortName || name == rc.program() || name == rc.client.name
}

// changed records the state after an intervention.
func (rc *reportedController) changed() {
	rc.client.reports.mu.Lock()
	defer rc.client.reports.mu.Unlock()
	rc.publishState(time.Now())
}

func (c *Clients) sortedControllers() []*reportedController {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.SortedFunc(maps.Values(c.controllers), func(a, b *reportedController) int { return cmp.Compare(a.name, b.name) })
}

// Controllers returns the controllers that clients report, by name.
func (c *Clients) Controllers() (list []control.Controller) {
	for _, rc := range c.sortedControllers() {
		rc.client.reports.mu.Lock()
		is := rc.state(time.Now())
		rc.client.reports.mu.Unlock()
		list = append(list, control.Controller{Name: rc.name, State: is.State, Reason: is.Reason, Process: is.Process, Interventions: is.Interventions, Gone: is.Gone})
	}
	return list
}

// Queues returns the queues of the controllers that clients report. It is called every
// second and before each snapshot: it ends the sessions of processes that are silent, and
// records the states, which change without a report, too.
func (c *Clients) Queues() (list []observe.Queue) {
	now := time.Now()
	for _, cl := range c.sorted() {
		cl.reports.endSilent(now)
	}
	for _, rc := range c.sortedControllers() {
		if v, ok := rc.client.reports.numbers(rc, c.config.Observer); ok {
			list = append(list, rc.queue.Complete(v, now))
		}
	}
	return list
}

// HasQueue reports whether a client reports a queue with that name.
func (c *Clients) HasQueue(client, queue string) bool {
	c.mu.RLock()
	cl := c.byName[client]
	c.mu.RUnlock()
	if cl == nil {
		return false
	}
	cl.reports.mu.Lock()
	defer cl.reports.mu.Unlock()
	return cl.reports.isReported(queue)
}

// numbers returns the numbers of a queue: how many keys there are in all processes that report, and what they and those
// before them have counted. Of those that wait to be the leader it has the keys of one, and none while another process works.
func (r *reportedState) numbers(rc *reportedController, observer *observe.Observer) (v observe.Queue, ok bool) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	rc.publishState(now)
	all, standby := rc.past, r.countedStandby(rc.shortName, now)
	for _, s := range r.sessions {
		q := s.queues[rc.shortName]
		if q == nil {
			continue
		}
		if all.add(q); s.silent {
			continue
		}
		ok = true
		if q.isStandby() && s != standby { // with EnableWarmup it has keys, which are those of the leader, too
			continue
		}
		if q.State == "" && !s.isLost(now) {
			v.Workers = max(v.Workers, int(addCount(0, int64(q.Workers))))
		}
		v.Depth, v.InFlight, v.Delayed = addCount(v.Depth, q.Depth), addCount(v.InFlight, q.InFlight), addCount(v.Delayed, q.Delayed)
		if due := s.due(q.NextDue, now); !q.NextDue.IsZero() && (v.NextDue.IsZero() || due.Before(v.NextDue)) {
			v.NextDue = due
		}
		for _, id := range q.Waiting {
			if o, ok := observer.DeliveredObject(s.event(id)); ok && len(v.Waiting) < maxWaitingShown {
				v.Waiting = append(v.Waiting, o)
			}
		}
	}
	v.Resumed = rc.resumed
	v.Adds, v.Gets, v.Done, v.Retries = all.adds, all.gets, all.done, all.retries
	return v, ok
}

// countedStandby returns the process whose keys are those of a controller though it waits to be the leader: of several,
// one that lives, and the one with the most; nil if another process has keys or works.
func (r *reportedState) countedStandby(controller string, now time.Time) (counted *session) {
	for _, id := range slices.Sorted(maps.Keys(r.sessions)) { // in an order: of equal ones it is always the same
		s := r.sessions[id]
		q := s.queues[controller]
		switch {
		case q == nil || s.silent:
		case q.State == StateStarting && q.Depth+q.Delayed == 0: // it may wait to be the leader next
		case !q.isStandby():
			return nil
		case counted == nil, counted.isLost(now) && !s.isLost(now):
			counted = s
		case s.isLost(now) && !counted.isLost(now):
		case q.Depth > counted.queues[controller].Depth:
			counted = s
		}
	}
	return counted
}

// isStandby reports whether the process waits to be the leader, or ends without having been it.
func (q *QueueReport) isStandby() bool {
	return q.State == StateStandby || q.State == StateStopping && q.Gets == 0
}

// totals are what processes have counted since their start.
type totals struct{ adds, gets, done, retries int64 }

// add adds what a process has counted, once it has taken a key: until then it may wait to be the leader, whose keys it
// has, too. What was counted never becomes less.
func (t *totals) add(q *QueueReport) {
	if q.Gets > 0 {
		t.adds, t.gets, t.done, t.retries = addCount(t.adds, q.Adds), addCount(t.gets, q.Gets), addCount(t.done, q.Done), addCount(t.retries, q.Retries)
	}
}

// maxCount is the largest number of keys or records that counts: JavaScript can read it, and sums of
// such numbers do not overflow.
const maxCount = 1<<53 - 1

// addCount adds a reported number to a sum.
func addCount(sum, reported int64) int64 { return min(sum+min(max(reported, 0), maxCount), maxCount) }

const maxWaitingShown = 10

// addTo adds what the client reports to its snapshot.
func (r *reportedState) addTo(v *observe.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v.ReportsDropped, v.ReportsRefused = r.dropped, r.refused
	for _, s := range r.sessions {
		v.ReportsDropped = addCount(v.ReportsDropped, s.dropped)
		if !s.silent {
			v.ControllersLeftOut = max(v.ControllersLeftOut, s.leftOut) // those of replicas are the same
		}
	}
	for _, rc := range r.controllers {
		v.Controllers = append(v.Controllers, rc.name)
	}
	slices.Sort(v.Controllers)
}
