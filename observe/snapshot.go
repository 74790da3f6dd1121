package observe

import "time"

// Snapshot is what is known at one moment: values only, so that nobody can
// reach live state through it.
type Snapshot struct {
	Time        time.Time    `json:"time"`
	Process     Process      `json:"process"`
	Controllers []Controller `json:"controllers,omitempty"` // by name
	Queues      []Queue      `json:"queues"`                // by controller, then name
	Timers      []Timer      `json:"timers,omitempty"`      // of parts that have no queues, the soonest first; only while nobody is busy
	Journal     JournalStats `json:"journal"`
}

// State is the control plane's own.
type State string

// The states of a control plane.
const (
	Starting State = "starting"
	Ready    State = "ready"
	Stopping State = "stopping"
)

// Process is the control plane as a whole. What is not known is zero.
type Process struct {
	Name       string `json:"name,omitempty"`
	Version    string `json:"version,omitempty"`    // of ctrlplane
	Kubernetes string `json:"kubernetes,omitempty"` // the version that is served
	URL        string `json:"url,omitempty"`
	DataDir    string `json:"dataDir,omitempty"`
	Ephemeral  bool   `json:"ephemeral,omitempty"`
	PID        int    `json:"pid,omitempty"`

	State   State     `json:"state,omitempty"`
	Started time.Time `json:"started"`
	// Settled says that, as far as can be seen, nothing is left to do now or within
	// a second; Busy names the controllers that are why not.
	Settled bool     `json:"settled"`
	Busy    []string `json:"busy,omitempty"`
	// Quiet says that nobody is busy now, nothing has been written, delivered or
	// synced a moment ago, and nothing in the process wants to run; or that for
	// half a second nothing has.
	Quiet bool `json:"quiet,omitempty"`

	Requests     int64         `json:"requests"`     // to the API server since the start, from inside and outside
	RequestRate  float64       `json:"requestRate"`  // a second, over the last 5 s
	EtcdRevision int64         `json:"etcdRevision"` // 0 if unknown
	EtcdBytes    int64         `json:"etcdBytes"`    // of the database file
	MemoryBytes  int64         `json:"memoryBytes"`  // resident
	CPU          time.Duration `json:"cpuNanos"`     // spent since the start of the process
	CPUPercent   float64       `json:"cpuPercent"`   // of one core, over the last 5 s
}

// Controller is what is known of one controller.
type Controller struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	State   string   `json:"state"` // off, building, running, stopping, failed; empty for parts that are no controllers
	Reason  string   `json:"reason,omitempty"`

	Watches []string     `json:"watches,omitempty"` // resources whose events it is given: RESOURCE or RESOURCE.GROUP
	Writes  []WriteCount `json:"writes,omitempty"`  // by resource, then verb

	Delivered int64 `json:"delivered"` // events
	Reads     int64 `json:"reads"`     // calls
	Changes   int64 `json:"changes"`   // calls that are writes
	Errors    int64 `json:"errors"`    // calls that failed, without conflicts
	Conflicts int64 `json:"conflicts"`
	Syncs     int64 `json:"syncs"`
	Failures  int64 `json:"failures"` // syncs that failed

	Running []RunningSync `json:"running,omitempty"` // syncs under way
	Failing []FailingKey  `json:"failing,omitempty"` // keys whose last sync failed, newest first
	Behind  []WatchLag    `json:"behind,omitempty"`  // by resource
	Writing int64         `json:"writing,omitempty"` // writes that are not answered yet, without chatter
}

// WriteCount counts one kind of write.
type WriteCount struct {
	Verb     string `json:"verb"`
	Resource string `json:"resource"` // RESOURCE[.GROUP][/SUBRESOURCE]
	Count    int64  `json:"count"`
}

// RunningSync is a sync under way.
type RunningSync struct {
	Queue    string    `json:"queue"`
	ID       uint64    `json:"id"`
	Key      string    `json:"key,omitempty"`
	KeyBasis Basis     `json:"keyBasis,omitempty"`
	Since    time.Time `json:"since"`
}

// FailingKey is a key whose last sync failed.
type FailingKey struct {
	Queue    string    `json:"queue"`
	Key      string    `json:"key,omitempty"`
	KeyBasis Basis     `json:"keyBasis,omitempty"`
	Error    string    `json:"error,omitempty"`
	Times    int       `json:"times"` // in a row
	Last     time.Time `json:"last"`
	Due      time.Time `json:"due,omitzero"` // when it is tried again; zero if it is not put back
}

// WatchLag is a resource of which a controller has not been told all yet.
type WatchLag struct {
	Resource  string `json:"resource"` // RESOURCE or RESOURCE.GROUP
	Delivered int64  `json:"told"`     // the version that its handler has been told last; 0 if none
	Written   int64  `json:"written"`  // the newest there is
}

// Queue is one work queue. Depth, adds, retries and the durations mean what the
// workqueue_* metrics of these names mean.
type Queue struct {
	Controller string `json:"controller,omitempty"` // empty if its owner is not known
	Name       string `json:"name"`
	// Parked says that its keys wait for something to change: there is nothing to
	// do about them now.
	Parked bool `json:"parked,omitempty"`

	Depth    int64 `json:"depth"`             // keys that wait
	InFlight int64 `json:"inFlight"`          // keys that are worked on
	Workers  int   `json:"workers,omitempty"` // 0 if not known
	Adds     int64 `json:"adds"`
	Gets     int64 `json:"gets"`
	Done     int64 `json:"done"`
	Retries  int64 `json:"retries"`
	// Delayed is how many keys wait for a timer at most: a queue does not tell
	// when it merges two, so this is inferred. -1 if unknown. NextDue is when the
	// first is due; zero if none is, or it is unknown.
	Delayed int64     `json:"delayedAtMost"`
	NextDue time.Time `json:"nextDue,omitzero"`

	AddRate  float64 `json:"addRate"`  // a second, over the last 5 s
	DoneRate float64 `json:"doneRate"` // a second, over the last 5 s

	Wait Durations `json:"wait"` // workqueue_queue_duration_seconds
	Work Durations `json:"work"` // workqueue_work_duration_seconds

	Unfinished time.Duration `json:"unfinishedNanos"` // of work in flight, all together
	Longest    time.Duration `json:"longestNanos"`    // that a key has been worked on by now

	// Waiting are objects whose events caused the latest adds: likely what the
	// waiting keys come from, the oldest first, ten at most.
	Waiting []Object `json:"waiting,omitempty"`
	// History is one sample a second, the oldest first, 60 at most.
	History []Sample `json:"history,omitempty"`
}

// Durations are quantiles of what has been measured: exact to about a tenth,
// but for Max and Sum.
type Durations struct {
	Recent Quantiles `json:"recent"` // the last minute
	Total  Quantiles `json:"total"`  // since the start
}

// Quantiles of durations; all zero if Count is.
type Quantiles struct {
	Count int64         `json:"count"`
	Sum   time.Duration `json:"sumNanos"`
	P50   time.Duration `json:"p50Nanos"`
	P99   time.Duration `json:"p99Nanos"`
	Max   time.Duration `json:"maxNanos"`
}

// Sample is a second in a queue's history.
type Sample struct {
	Depth int64 `json:"depth"` // the highest in that second
	Adds  int64 `json:"adds"`  // in that second
	Done  int64 `json:"done"`  // in that second
}

// JournalStats tell how much of what happened can still be read.
type JournalStats struct {
	Last    uint64 `json:"last"`    // Seq of the newest record
	First   uint64 `json:"first"`   // Seq of the oldest record of any kind
	Size    int    `json:"size"`    // records that are kept of all kinds, and again of writes, failures and changes of state
	Dropped uint64 `json:"dropped"` // records that went, because newer ones came
}
