package clients

import "time"

// SyncHeader names the sync that makes a request: SESSION/CONTROLLER/SYNC.
const SyncHeader = "Ctrlplane-Sync"

// AnswerHeader is "1" in each answer to a report: it tells ctrlplane from other servers.
const AnswerHeader = "Ctrlplane-Reports"

// WireVersion is the version of reports that is understood.
const WireVersion = 1

// Report is what a program that uses the instrument module sends about its controllers.
// docs/operators.md describes the fields. That module has the same types: it must not
// depend on this one.
type Report struct {
	Version     int             `json:"version"`
	Session     string          `json:"session"`
	Number      uint64          `json:"number"`
	Sent        time.Time       `json:"sent"`
	Dropped     int64           `json:"dropped,omitempty"`
	Ended       bool            `json:"ended,omitempty"`
	Controllers queueReports    `json:"controllers,omitempty"`
	Records     reportedRecords `json:"records,omitempty"`
}

// QueueReport has the numbers of a controller's queue.
type QueueReport struct {
	Name     string      `json:"name"`
	State    string      `json:"state,omitempty"` // one of the states below; empty once its workers have started
	Workers  int         `json:"workers"`
	Depth    int64       `json:"depth"`
	InFlight int64       `json:"inFlight"`
	Delayed  int64       `json:"delayed"`
	NextDue  time.Time   `json:"nextDue,omitzero"`
	Adds     int64       `json:"adds"`
	Gets     int64       `json:"gets"`
	Done     int64       `json:"done"`
	Retries  int64       `json:"retries"`
	Waiting  waitingKeys `json:"waiting,omitempty"`
}

// The states of a controller in reports. On standby, its process waits to be the leader; while it
// is starting, its workers wait for its caches.
const (
	StateStandby  = "standby"
	StateStarting = "starting"
	StateStopping = "stopping"
)

// ReportedRecord has one of its fields.
type ReportedRecord struct {
	Event *ReportedEvent `json:"event,omitempty"`
	Began *ReportedBegin `json:"began,omitempty"`
	Ended *ReportedEnd   `json:"ended,omitempty"`
}

// ReportedEvent is an event that a handler of a controller has received.
type ReportedEvent struct {
	ID              uint64        `json:"id"`
	Controller      string        `json:"controller"`
	Time            time.Time     `json:"time"`
	Took            time.Duration `json:"tookNanos"`
	Change          string        `json:"change"`
	Group           string        `json:"group,omitempty"`
	Resource        string        `json:"resource"`
	Kind            string        `json:"kind"`
	Namespace       string        `json:"namespace,omitempty"`
	Name            string        `json:"name"`
	UID             string        `json:"uid,omitempty"`
	ResourceVersion string        `json:"resourceVersion,omitempty"`
	Deleting        bool          `json:"deleting,omitempty"`
	Adds            eventAdds     `json:"adds,omitempty"`
	Later           eventLater    `json:"later,omitempty"`
	Delays          bool          `json:"delays,omitempty"`
}

// ReportedBegin is a sync that has begun.
type ReportedBegin struct {
	ID         uint64    `json:"id"`
	Controller string    `json:"controller"`
	Key        string    `json:"key"`
	Time       time.Time `json:"time"`
}

// ReportedEnd is a sync that has ended.
type ReportedEnd struct {
	ReportedBegin
	Waited   time.Duration `json:"waitedNanos"`
	Took     time.Duration `json:"tookNanos"`
	Add      uint64        `json:"add,omitempty"`
	Event    uint64        `json:"event,omitempty"`
	Sync     uint64        `json:"sync,omitempty"`
	Unsure   bool          `json:"unsure,omitempty"`
	Requeued bool          `json:"requeued,omitempty"`
	Due      time.Time     `json:"due,omitzero"`
	Error    string        `json:"error,omitempty"`
}
