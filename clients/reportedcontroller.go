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

	// The lock of the client's reportedState guards this.
	disconnected string // why it is not running; empty if it is
}

// reportedController returns the controller of a client with that name in its reports; nil
// if there are too many.
func (c *Clients) reportedController(cl *client, program, shortName string) *reportedController {
	cl.reports.mu.Lock()
	rc := cl.reports.controllers[shortName]
	cl.reports.mu.Unlock()
	if rc != nil {
		return rc
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName[cl.name] != cl || len(c.controllers) >= maxAllControllers {
		return nil
	}
	name := program + "/" + shortName
	if c.controllers[name] != nil {
		name = cl.name + "/" + shortName
	}
	cl.reports.mu.Lock()
	defer cl.reports.mu.Unlock()
	if rc = cl.reports.controllers[shortName]; rc != nil || len(cl.reports.controllers) >= maxControllers {
		return rc
	}
	rc = &reportedController{
		name: name, shortName: shortName, client: cl,
		gate: cl.gate.NewInnerGate(), queue: c.config.Observer.Recorder(name).ReportedQueue(shortName),
		queues: slices.Repeat([]string{shortName}, maxEventAdds),
	}
	if cl.reports.controllers == nil {
		cl.reports.controllers = map[string]*reportedController{}
	}
	cl.reports.controllers[shortName], c.controllers[name] = rc, rc
	return rc
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

func (rc *reportedController) setConnected() {
	rc.disconnected = ""
	rc.publishState()
}

func (rc *reportedController) setDisconnected(reason string) {
	rc.disconnected = reason
	rc.publishState()
}

// publishState records the state if it has changed. The caller holds the lock of the
// client's reportedState.
func (rc *reportedController) publishState() { rc.queue.Recorder().SetState(rc.state()) }

// state describes the process and the interventions, which apply to its next process, too.
func (rc *reportedController) state() (state, reason string) {
	reason, paused := rc.gate.Describe()
	state = "running"
	if rc.disconnected != "" {
		state = "off"
		reason = strings.Join(slices.DeleteFunc([]string{reason, rc.disconnected}, func(s string) bool { return s == "" }), ", ")
	}
	if paused {
		state = "paused"
	}
	return state, reason
}

// changed records the state after an intervention.
func (rc *reportedController) changed() {
	rc.client.reports.mu.Lock()
	defer rc.client.reports.mu.Unlock()
	rc.publishState()
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
		state, reason := rc.state()
		rc.client.reports.mu.Unlock()
		list = append(list, control.Controller{Name: rc.name, State: state, Reason: reason})
	}
	return list
}

// Queues returns the queues of the controllers that clients report. It is called every
// second, and ends the sessions of processes that are silent.
func (c *Clients) Queues() (list []observe.Queue) {
	now := time.Now()
	for _, cl := range c.sorted() {
		cl.reports.endSilent(now)
	}
	for _, rc := range c.sortedControllers() {
		if v, ok := rc.client.reports.numbers(rc.shortName, c.config.Observer); ok {
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

// numbers returns the numbers of a queue: the sum of those of all processes.
func (r *reportedState) numbers(name string, observer *observe.Observer) (v observe.Queue, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		q := s.queues[name]
		if q == nil || s.silent {
			continue
		}
		ok = true
		v.Workers = max(v.Workers, q.Workers, 0)
		v.Depth, v.InFlight, v.Delayed = v.Depth+max(q.Depth, 0), v.InFlight+max(q.InFlight, 0), v.Delayed+max(q.Delayed, 0)
		v.Adds, v.Gets, v.Done, v.Retries = v.Adds+max(q.Adds, 0), v.Gets+max(q.Gets, 0), v.Done+max(q.Done, 0), v.Retries+max(q.Retries, 0)
		if due := s.due(q.NextDue, time.Now()); !q.NextDue.IsZero() && (v.NextDue.IsZero() || due.Before(v.NextDue)) {
			v.NextDue = due
		}
		for _, id := range q.Waiting {
			if o, ok := observer.DeliveredObject(s.event(id)); ok && len(v.Waiting) < maxWaitingShown {
				v.Waiting = append(v.Waiting, o)
			}
		}
	}
	return v, ok
}

const maxWaitingShown = 10

// addTo adds what the client reports to its snapshot.
func (r *reportedState) addTo(v *observe.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v.ReportsDropped, v.ReportsRefused = r.dropped, r.refused
	for _, s := range r.sessions {
		v.ReportsDropped += s.dropped
	}
	for _, rc := range r.controllers {
		v.Controllers = append(v.Controllers, rc.name)
	}
	slices.Sort(v.Controllers)
}
