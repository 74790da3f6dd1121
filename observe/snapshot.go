package observe

import (
	"cmp"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// Snapshot is the state at one moment. It has values only and no references to
// live state.
type Snapshot struct {
	Time        time.Time    `json:"time"`
	Process     Process      `json:"process"`
	Controllers []Controller `json:"controllers,omitempty"` // by name
	Queues      []Queue      `json:"queues"`                // by controller, then name
	Clients     []Client     `json:"clients,omitempty"`     // by name
	Timers      []Timer      `json:"timers,omitempty"`      // of components that have no queues, soonest first; while a controller is busy, only those with a Reason, as of some seconds before
	Problems    []Problem    `json:"problems,omitempty"`    // of Pods, Jobs, Nodes and writes; while a controller is busy, as of some seconds before
	Journal     JournalStats `json:"journal"`
}

// IgnoredWebhook is an admission webhook for which writes have failed open.
type IgnoredWebhook struct {
	Name  string    `json:"name"`
	Times int       `json:"times"` // writes
	Last  time.Time `json:"last"`
}

// State is the state of a control plane.
type State string

// The states of a control plane.
const (
	Starting State = "starting"
	Ready    State = "ready"
	Stopping State = "stopping"
)

// Leader says which of several processes runs the controllers.
type Leader string

// The leaders, as a process sees them.
const (
	LeaderOwn   Leader = "own"   // the process itself
	LeaderOther Leader = "other" // another process
	LeaderNone  Leader = "none"  // no process, as far as is known
)

// StandbyReason says why a process does not run the controllers; empty if it does.
func (p Process) StandbyReason() string {
	switch p.Leader {
	case LeaderOther:
		return "on standby: the controllers run in " + p.LeaseHolder + ", which holds the lease"
	case LeaderNone:
		return "on standby: no process holds the lease of the controllers"
	}
	return ""
}

// Process describes the control plane as a whole. Unknown fields are zero.
type Process struct {
	Name       string `json:"name,omitempty"`
	Version    string `json:"version,omitempty"`    // of ctrlplane
	Kubernetes string `json:"kubernetes,omitempty"` // the version served
	URL        string `json:"url,omitempty"`
	DataDir    string `json:"dataDir,omitempty"`
	Ephemeral  bool   `json:"ephemeral,omitempty"`
	PID        int    `json:"pid,omitempty"`

	State   State     `json:"state,omitempty"`
	Started time.Time `json:"started"`
	// Settled is set if, as far as can be observed, there is no work now and none is
	// due within a second. Busy names the controllers that have work.
	Settled bool     `json:"settled"`
	Busy    []string `json:"busy,omitempty"`
	// Quiet is set if no controller is busy, and there was no write, delivery or sync
	// in the last 10 ms while no goroutine is runnable, or in the last half second.
	Quiet bool `json:"quiet,omitempty"`
	// LastActivity is when the last write of a controller or client was answered, or the last delivery or sync ended. It may be a
	// millisecond too early.
	LastActivity time.Time `json:"lastActivity,omitzero"`
	// LastActive names the controller or client whose last write, delivery or sync keeps Quiet from
	// being set or is less than SettledQuiet ago, if Busy is empty.
	LastActive string `json:"lastActive,omitempty"`
	// Speed is how fast controllers, the scheduler and the simulated kubelets work; empty
	// if it cannot be set.
	Speed Speed `json:"speed,omitempty"`
	// Leader says which process runs the controllers, the scheduler and the simulated
	// kubelets; empty = this one, without leader election. LeaseHolder is the identity of the
	// process that holds the lease, as far as this one knows.
	Leader      Leader `json:"leader,omitempty"`
	LeaseHolder string `json:"leaseHolder,omitempty"`
	// TakingOver is set while a process that has become the leader starts the controllers.
	TakingOver bool `json:"takingOver,omitempty"`
	// Restoring is set while a snapshot is restored. The controllers are stopped then.
	Restoring bool `json:"restoring,omitempty"`

	Requests     int64         `json:"requests"`     // to the API server since the start, from this process and from clients
	RequestRate  float64       `json:"requestRate"`  // per second, over the last 5 s; -1 if unknown
	EtcdRevision int64         `json:"etcdRevision"` // 0 if unknown
	EtcdBytes    int64         `json:"etcdBytes"`    // of the database, without the space to grow that its file has
	MemoryBytes  int64         `json:"memoryBytes"`  // resident; 0 = unknown
	CPU          time.Duration `json:"cpuNanos"`     // spent since the start of the process
	CPUPercent   float64       `json:"cpuPercent"`   // of one core, over the last 5 s

	// IgnoredWebhooks are the admission webhooks that could not be called and were ignored, as their failurePolicy says, since
	// the start, without those that were removed since.
	IgnoredWebhooks []IgnoredWebhook `json:"ignoredWebhooks,omitempty"`
	// UnreadMetrics are those of "--with" that cannot be read.
	UnreadMetrics []UnreadMetrics `json:"unreadMetrics,omitempty"`
	// EndedOperator is set while the operator of "ctrlplane dev" does not run.
	EndedOperator EndedOperator `json:"endedOperator,omitzero"`
}

// UnreadMetrics are those of another process, whose queues are not known then.
type UnreadMetrics struct {
	Program string    `json:"program,omitempty"` // as the user has named it
	Since   time.Time `json:"since"`
	Reason  string    `json:"reason"` // names the address, and says what to do
}

// Controller describes one controller.
type Controller struct {
	Name          string        `json:"name"`
	Aliases       []string      `json:"aliases,omitempty"`
	State         string        `json:"state"` // one of ControllerStates; empty for components that are not controllers
	Reason        string        `json:"reason,omitempty"`
	Interventions Interventions `json:"interventions,omitzero"` // as in ControllerChanged
	Process       string        `json:"process,omitempty"`      // as in ControllerChanged
	Gone          Gone          `json:"gone,omitempty"`
	// Since is when the state last changed, whatever the reason; of a controller whose process is gone, when that was last
	// heard of.
	Since time.Time `json:"since,omitzero"`

	Watches []string     `json:"watches,omitempty"` // resources whose events it receives: RESOURCE or RESOURCE.GROUP
	Writes  []WriteCount `json:"writes,omitempty"`  // by resource, then verb

	// The following numbers are -1 if unknown.
	Delivered int64 `json:"delivered"` // events
	Reads     int64 `json:"reads"`     // calls
	Changes   int64 `json:"changes"`   // calls that are writes
	Errors    int64 `json:"errors"`    // calls that failed, except conflicts and deletions of objects that do not exist
	Conflicts int64 `json:"conflicts"`
	Syncs     int64 `json:"syncs"`
	Failures  int64 `json:"failures"` // syncs that failed

	// StartConflicts and StartFailures are those of Conflicts and Failures that the start of the
	// control plane itself had, if Journal.StartEnd is set.
	StartConflicts int64 `json:"startConflicts,omitempty"`
	StartFailures  int64 `json:"startFailures,omitempty"`

	Running []RunningSync `json:"running,omitempty"` // syncs in flight
	// Failing are the keys whose last sync failed, newest first, at most 10 and those that a KeySource was
	// asked for. Those of a controller that was stopped manually are kept until it is started.
	Failing []FailingKey `json:"failing,omitempty"`
	// MoreFailing is the number of such keys that Failing leaves out. Of all controllers together, a few
	// thousand are kept.
	MoreFailing int        `json:"moreFailing,omitempty"`
	Behind      []WatchLag `json:"behind,omitempty"` // by resource
	// Writing counts writes without an answer, held ones included, except of Leases and Events. Unlike those of a client
	// they include requests for tokens, for which simulated Pods wait, and reviews.
	Writing int64 `json:"writing,omitempty"`
	Held    int   `json:"held,omitempty"` // held writes, if it is paused
	// Unlisted says why a kind that it needs cannot be listed; until it can, the controller does nothing.
	Unlisted string `json:"unlisted,omitempty"`
}

// WriteCount counts the writes of one kind.
type WriteCount struct {
	Verb     string `json:"verb"`
	Resource string `json:"resource"` // RESOURCE[.GROUP][/SUBRESOURCE]
	Count    int64  `json:"count"`
}

// RunningSync is a sync in flight.
type RunningSync struct {
	Queue    string    `json:"queue"`
	ID       uint64    `json:"id"`
	Key      string    `json:"key,omitempty"`
	KeyBasis Basis     `json:"keyBasis,omitempty"`
	Since    time.Time `json:"since"`
	// Waits is set if the worker waits with the key, because of Process.Speed.
	Waits bool `json:"waits,omitempty"`
}

// FailingKey is a key whose last sync failed.
type FailingKey struct {
	Queue    string `json:"queue"`
	Key      string `json:"key,omitempty"`
	KeyBasis Basis  `json:"keyBasis,omitempty"`
	Error    string `json:"error,omitempty"`
	Times    int    `json:"times"` // in a row
	// AtLeast is set if the key may have failed more often: syncs of unknown keys of its queue
	// have failed since.
	AtLeast bool      `json:"atLeast,omitempty"`
	Last    time.Time `json:"last"`
	Retried bool      `json:"retried,omitempty"` // it is requeued
	Due     time.Time `json:"due,omitzero"`      // when it is retried; zero if it is not, or if that is not known
	// Early is set if the key is synced before Due, because of other events: it is queued or in flight, or its last syncs, a
	// moment ago, were.
	Early bool `json:"early,omitempty"`
}

// MaxConflicts is how many times in a row a key or a write may have a conflict, or a key a stale cache, which is normal and
// retried, until it counts as failing: it may be written again and again with the same version.
const MaxConflicts = 5

// MaxRetry is how long after a failed attempt a client may repeat the same write: many wait for a minute, as kopf does by default,
// and begin a little later.
const MaxRetry = 75 * time.Second

// NextAttempt says when the key is synced next, if that is known: "next attempt in 2.1 s".
func (f FailingKey) NextAttempt(now time.Time) string {
	switch wait := f.Due.Sub(now); {
	case f.Due.IsZero() || wait <= 0:
		return ""
	case f.Early:
		return "synced again because of other events"
	default:
		return "next attempt in " + words.Duration(wait)
	}
}

// HowOften says how often the key has failed: "once", "3 times in a row", "at least 3 times".
func (f FailingKey) HowOften() string {
	switch {
	case f.AtLeast:
		return "at least " + words.Times(max(f.Times, 1))
	case f.Times <= 1:
		return "once"
	}
	return words.Times(f.Times) + " in a row"
}

// WatchLag is a resource of which a controller's handlers lack events.
type WatchLag struct {
	Resource  string `json:"resource"` // RESOURCE or RESOURCE.GROUP
	Delivered int64  `json:"told"`     // the last version delivered to its handler; 0 if none
	Written   int64  `json:"written"`  // the newest version
}

// Queue describes a work queue. Depth, adds, retries and the durations have the
// meaning of the workqueue_* metrics with these names.
type Queue struct {
	Controller string `json:"controller,omitempty"` // empty if the owner is unknown
	Name       string `json:"name"`
	// Parked is set if the keys wait for a change elsewhere, as unschedulable Pods
	// do. They are not work to do now.
	Parked bool `json:"parked,omitempty"`
	// Outside is set for a queue of another process, known by its metrics. It is not
	// work of this control plane.
	Outside bool `json:"outside,omitempty"`

	// The following numbers and rates are -1 if unknown, Workers is 0. CONTRIBUTING.md lists where a
	// new one goes.
	Depth    int64 `json:"depth"`    // keys waiting
	MaxDepth int64 `json:"peak"`     // the highest Depth in the last one to two seconds
	InFlight int64 `json:"inFlight"` // keys being worked on
	Workers  int   `json:"workers,omitempty"`
	Adds     int64 `json:"adds"`
	Gets     int64 `json:"gets"`
	Done     int64 `json:"done"`
	Retries  int64 `json:"retries"`
	// ErrorRetries counts the keys that were added again after a sync that failed. The other
	// Retries are planned: the controller looks again later.
	ErrorRetries int64 `json:"errorRetries"`
	// Delayed is an upper bound for the number of keys waiting for a timer: a queue
	// does not report that it merges two. -1 if unknown. NextDue is when the first is
	// due; zero if there is none or it is unknown.
	Delayed int64     `json:"delayedAtMost"`
	NextDue time.Time `json:"nextDue,omitzero"`

	// Resumed is how often another process reported the queue again after it had been silent. What it has counted
	// meanwhile is in no rate.
	Resumed int64 `json:"-"`

	AddRate  float64 `json:"addRate"`  // per second, over the last 5 s
	DoneRate float64 `json:"doneRate"` // per second, over the last 5 s

	Wait Durations `json:"wait"` // workqueue_queue_duration_seconds
	Work Durations `json:"work"` // workqueue_work_duration_seconds

	Unfinished time.Duration `json:"unfinishedNanos"` // total age of the syncs in flight
	Longest    time.Duration `json:"longestNanos"`    // age of the oldest sync in flight

	// Waiting lists up to ten objects whose events likely added the waiting keys,
	// oldest first.
	Waiting []Object `json:"waiting,omitempty"`
	// History has one sample per second, oldest first, at most 60.
	History []Sample `json:"history,omitempty"`
}

// Pending returns the number of keys that wait or are worked on, as far as it is known.
func (q *Queue) Pending() int64 { return max(q.Depth, 0) + max(q.InFlight, 0) }

// HasUnknownKeys reports whether it is not known if keys wait or are worked on.
func (q *Queue) HasUnknownKeys() bool { return q.Depth < 0 || q.InFlight < 0 }

// Durations has quantiles of measured durations, accurate to about 10 %. Max and
// Sum are exact.
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

// Sample is one second in a queue's history.
type Sample struct {
	MaxDepth int64 `json:"depth"` // in that second
	Adds     int64 `json:"adds"`  // in that second
	Done     int64 `json:"done"`  // in that second
}

// JournalStats says which records are still available.
type JournalStats struct {
	Last    uint64 `json:"last"`    // Seq of the newest record
	First   uint64 `json:"first"`   // Seq of the oldest record of any kind
	Size    int    `json:"size"`    // capacity for records of all kinds, again for those that are not background, and for notable ones
	Dropped uint64 `json:"dropped"` // records evicted by newer ones
	// StartEnd is the Seq of the last record of the start of the control plane itself; 0 if the
	// start is not told apart from what came later.
	StartEnd uint64 `json:"startEnd,omitempty"`
}

// ProcessState returns the state without a pause.
func (c *Controller) ProcessState() string { return cmp.Or(c.Process, c.State) }

// HasEnded reports whether it is a controller of an operator whose process has ended, as far as is known.
func (c *Controller) HasEnded() bool {
	state := c.ProcessState()
	return IsReported(c.Name) && (state == StateOff || state == StateUnknown)
}
