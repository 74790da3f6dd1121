package instrument

import (
	"slices"
	"time"
)

// reportPath is where the control plane takes reports.
const reportPath = "/ctrlplane/v1/reports"

// syncHeader names, in a request, the sync that makes it: SESSION/CONTROLLER/SYNC.
const syncHeader = "Ctrlplane-Sync"

// answerHeader is "1" in each answer of ctrlplane to a report.
const answerHeader = "Ctrlplane-Reports"

// wireVersion is the version of the wire format.
const wireVersion = 1

// report is what is sent at once.
type report struct {
	Version int    `json:"version"`
	Session string `json:"session"` // chosen at random for each manager
	// Number counts the reports of a session, from 1. A report that is sent again has the
	// same number.
	Number uint64    `json:"number"`
	Sent   time.Time `json:"sent"`
	// Dropped is the number of records that were dropped since the start.
	Dropped     uint64             `json:"dropped,omitempty"`
	Ended       bool               `json:"ended,omitempty"` // the last report of the session
	Controllers []controllerReport `json:"controllers,omitempty"`
	Records     []record           `json:"records,omitempty"`
}

// add adds a controller. Those with the same name, as SkipNameValidation allows, are one.
func (r *report) add(c controllerReport) {
	for i := range r.Controllers {
		if r.Controllers[i].Name == c.Name {
			r.Controllers[i].add(&c)
			return
		}
	}
	r.Controllers = append(r.Controllers, c)
}

// The states of a controller in reports. One whose workers have started has none.
const (
	stateStandby  = "standby"
	stateStarting = "starting"
	stateStopping = "stopping"
)

// controllerReport has the numbers of a controller's queue when the report was made.
type controllerReport struct {
	Name     string    `json:"name"`
	State    string    `json:"state,omitempty"`
	Workers  int       `json:"workers"`
	Depth    int       `json:"depth"`
	InFlight int       `json:"inFlight"`
	Delayed  int       `json:"delayed"`
	NextDue  time.Time `json:"nextDue,omitzero"`
	Adds     uint64    `json:"adds"`
	Gets     uint64    `json:"gets"`
	Done     uint64    `json:"done"`
	Retries  uint64    `json:"retries"`
	// Waiting has the events that added the keys which wait, at most maxWaiting.
	Waiting []uint64 `json:"waiting,omitempty"`
}

// add adds the numbers of another controller with the same name. The state is that of the one
// that has come further.
func (c *controllerReport) add(o *controllerReport) {
	order := []string{stateStandby, stateStarting, stateStopping, ""}
	if slices.Index(order, o.State) > slices.Index(order, c.State) {
		c.State = o.State
	}
	c.Workers += o.Workers
	c.Depth, c.InFlight, c.Delayed = c.Depth+o.Depth, c.InFlight+o.InFlight, c.Delayed+o.Delayed
	c.Adds, c.Gets, c.Done, c.Retries = c.Adds+o.Adds, c.Gets+o.Gets, c.Done+o.Done, c.Retries+o.Retries
	if !o.NextDue.IsZero() && (c.NextDue.IsZero() || o.NextDue.Before(c.NextDue)) {
		c.NextDue = o.NextDue
	}
	c.Waiting = append(c.Waiting, o.Waiting[:min(len(o.Waiting), maxWaiting-len(c.Waiting))]...)
}

// record has one of its fields.
type record struct {
	Event *eventRecord `json:"event,omitempty"`
	Began *beganRecord `json:"began,omitempty"`
	Ended *endedRecord `json:"ended,omitempty"`
}

// eventRecord is an event that a handler of a controller has received.
type eventRecord struct {
	ID              uint64        `json:"id"`
	Controller      string        `json:"controller"`
	Time            time.Time     `json:"time"` // when the handler began
	Took            time.Duration `json:"tookNanos"`
	Change          string        `json:"change"` // listed, added, updated, resynced, deleted
	Group           string        `json:"group,omitempty"`
	Resource        string        `json:"resource"`
	Kind            string        `json:"kind"`
	Namespace       string        `json:"namespace,omitempty"`
	Name            string        `json:"name"`
	UID             string        `json:"uid,omitempty"`
	ResourceVersion string        `json:"resourceVersion,omitempty"`
	Deleting        bool          `json:"deleting,omitempty"` // since this version
	// Adds has the number of each key that the handler added: the adds of all controllers are counted
	// from 1. A key that is queued already is not added again.
	Adds []uint64 `json:"adds,omitempty"`
	// Later has the times when keys are due that the handler added with a delay.
	Later []time.Time `json:"later,omitempty"`
	// Delays is set if it has also added a key with a delay that is not known, or that does not count, as the key is queued or
	// due earlier.
	Delays bool `json:"delays,omitempty"`
}

// beganRecord is a sync that has begun.
type beganRecord struct {
	ID         uint64    `json:"id"`
	Controller string    `json:"controller"`
	Key        string    `json:"key"` // NAMESPACE/NAME or NAME
	Time       time.Time `json:"time"`
}

// endedRecord is a sync that has ended.
type endedRecord struct {
	beganRecord
	Waited time.Duration `json:"waitedNanos"` // in the queue
	Took   time.Duration `json:"tookNanos"`
	Add    uint64        `json:"add,omitempty"` // that queued the key; 0 = unknown
	// Event or Sync is what made that add. Unsure is set if another add may have queued
	// the key.
	Event    uint64    `json:"event,omitempty"`
	Sync     uint64    `json:"sync,omitempty"`
	Unsure   bool      `json:"unsure,omitempty"`
	Requeued bool      `json:"requeued,omitempty"` // its key was added again
	Due      time.Time `json:"due,omitzero"`       // when that key is due
	Error    string    `json:"error,omitempty"`
}
