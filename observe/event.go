package observe

import "time"

// Kind names a type of event in JSON and in queries.
type Kind string

// The closed set of kinds, each with the event type of its name.
const (
	KindBootStep          Kind = "bootStep"
	KindControllerChanged Kind = "controllerChanged"
	KindQueueChanged      Kind = "queueChanged"
	KindDelivered         Kind = "delivered"
	KindCalled            Kind = "called"
	KindSynced            Kind = "synced"
	KindLogged            Kind = "logged"
)

// Kinds are all kinds.
var Kinds = []Kind{KindBootStep, KindControllerChanged, KindQueueChanged, KindDelivered, KindCalled, KindSynced, KindLogged}

// Event is one thing that happened: a pointer to one of the types below, which
// nobody changes once it is appended.
type Event interface{ Kind() Kind }

// Object names an object of the API. What is not known is empty.
type Object struct {
	Group     string `json:"group,omitempty"`
	Resource  string `json:"resource,omitempty"` // plural, lower case, as in URLs
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
}

// Same says whether both name the same object; a UID counts where both have one.
func (o Object) Same(p Object) bool {
	return o.Group == p.Group && o.Resource == p.Resource && o.Namespace == p.Namespace && o.Name == p.Name &&
		(o.UID == "" || p.UID == "" || o.UID == p.UID)
}

// Key is NAMESPACE/NAME, or NAME where there is no namespace.
func (o Object) Key() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// String is the kind, or the resource where that is unknown, and the key.
func (o Object) String() string {
	what := o.Kind
	if what == "" {
		what = o.Resource
	}
	if o.Name == "" {
		if o.Namespace == "" {
			return what
		}
		return what + " in " + o.Namespace
	}
	return what + " " + o.Key()
}

// BootStep is a step of the start that has ended.
type BootStep struct {
	Step  string        `json:"step"`
	Took  time.Duration `json:"tookNanos"`
	Error string        `json:"error,omitempty"`
}

// ControllerChanged is a controller's new state.
type ControllerChanged struct {
	Controller string `json:"controller"`
	State      string `json:"state"`
	Reason     string `json:"reason,omitempty"`
}

// QueueChanged is what a queue's numbers were, once a second while they move.
type QueueChanged struct {
	Controller string `json:"controller,omitempty"`
	Queue      string `json:"queue"`
	Depth      int64  `json:"depth"`
	MaxDepth   int64  `json:"maxDepth"` // since the event before
	InFlight   int64  `json:"inFlight"`
	Adds       int64  `json:"adds"`
	Gets       int64  `json:"gets"`
	Done       int64  `json:"done"`
	Retries    int64  `json:"retries"`
}

// Change is what an informer told an event handler.
type Change string

// What an informer tells: Listed is an object that was there when the handler
// was added, Resynced one that has not changed.
const (
	Listed   Change = "listed"
	Added    Change = "added"
	Updated  Change = "updated"
	Resynced Change = "resynced"
	Deleted  Change = "deleted"
)

// Delivered is an event that a controller's handler has been given.
type Delivered struct {
	Controller      string `json:"controller"`
	Change          Change `json:"change"`
	Object          Object `json:"object"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Queues are those that the handler added a key to, one entry an add.
	Queues []string `json:"queues,omitempty"`
	// Adds are the numbers of these adds, each in its queue, from 1.
	Adds []uint64 `json:"adds,omitempty"`
	// Later are the keys that the handler has put off.
	Later []Later       `json:"later,omitempty"`
	Took  time.Duration `json:"tookNanos"` // in the handler
}

// Later is a key that is to be added to a queue when it is due.
type Later struct {
	Queue string    `json:"queue"`
	Due   time.Time `json:"due"`
}

// Called is a controller's call of the API, when it has been answered. A watch
// is answered when it begins.
type Called struct {
	Controller  string        `json:"controller"`
	Verb        string        `json:"verb"` // as in RBAC: get, list, watch, create, update, patch, delete, deletecollection
	Object      Object        `json:"object"`
	Subresource string        `json:"subresource,omitempty"`
	Status      int           `json:"status"` // HTTP; 0 if there was no answer
	Began       time.Time     `json:"began,omitzero"`
	Took        time.Duration `json:"tookNanos"`
	// ResourceVersion is what a write made of the object.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Conflict        bool   `json:"conflict,omitempty"` // the object had changed meanwhile
	Error           string `json:"error,omitempty"`
	// Sync is the ID of the sync that made the call; 0 if none is known.
	Sync uint64 `json:"sync,omitempty"`
}

// IsWrite says whether the call is meant to change something.
func (c *Called) IsWrite() bool {
	switch c.Verb {
	case "get", "list", "watch":
		return false
	}
	return true
}

// IsRoutine says whether the call is about a lease or an event: there are many of
// these, and nothing follows from them.
func (c *Called) IsRoutine() bool {
	return c.Object.Resource == "leases" || c.Object.Resource == "events"
}

// Failed says whether the call was refused or not answered.
func (c *Called) Failed() bool { return c.Status == 0 || c.Status >= 400 }

// Basis is how something is known that no hook tells outright.
type Basis string

// From the surest on: a worker's own log line names its key; the object of its
// calls is likely the key or near it; the object whose event caused the oldest
// add is likely what the key comes from.
const (
	BasisUnknown Basis = ""
	BasisLog     Basis = "log"
	BasisCall    Basis = "call"
	BasisEvent   Basis = "event"
)

// Inferred says whether b is likely, not certain.
func (b Basis) Inferred() bool { return b == BasisCall || b == BasisEvent }

// Synced is a worker's work on one key of a queue, when it is done.
type Synced struct {
	Controller string `json:"controller,omitempty"`
	Queue      string `json:"queue"`
	ID         uint64 `json:"id"` // of the sync, for Called and Logged
	Key        string `json:"key,omitempty"`
	KeyBasis   Basis  `json:"keyBasis,omitempty"`
	// Add is the number of the add that it follows, as in Delivered.Adds; 0 if
	// unknown. Where several fit, it is the first of them, and LastAdd the last.
	Add     uint64 `json:"add,omitempty"`
	LastAdd uint64 `json:"lastAdd,omitempty"`
	// Cause is the Seq of the Delivered whose handler made that add, CauseSync the
	// ID of the sync that did; 0 if none did, or it is not known. Timed says that
	// the queue's timer did.
	Cause     uint64 `json:"cause,omitempty"`
	CauseSync uint64 `json:"causeSync,omitempty"`
	Timed     bool   `json:"timed,omitempty"`
	// Sure says that this is certain: all adds that fit the time that the key waited
	// come of the same.
	Sure    bool          `json:"sure,omitempty"`
	Waited  time.Duration `json:"waitedNanos"`       // in the queue
	Took    time.Duration `json:"tookNanos"`         // the work
	Retried bool          `json:"retried,omitempty"` // its key is to be added again after a while
	Due     time.Time     `json:"due,omitzero"`      // when that is
	Error   string        `json:"error,omitempty"`
	// Reads and Writes are the calls that it made.
	Reads  int `json:"reads,omitempty"`
	Writes int `json:"writes,omitempty"`
}

// Failed says whether the sync is known to have failed. That its key comes again
// is no failure: many look again later.
func (s *Synced) Failed() bool { return s.Error != "" }

// Logged is a line of a controller's own log.
type Logged struct {
	Controller string `json:"controller"`
	Level      int    `json:"level"` // as slog: 8 error, 4 warning, 0 info, -4 what klog says at V(4)
	Message    string `json:"message"`
	Attrs      []Attr `json:"attrs,omitempty"`
	Sync       uint64 `json:"sync,omitempty"`
}

// Attr is a key and a value of a log line.
type Attr struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func (*BootStep) Kind() Kind          { return KindBootStep }
func (*ControllerChanged) Kind() Kind { return KindControllerChanged }
func (*QueueChanged) Kind() Kind      { return KindQueueChanged }
func (*Delivered) Kind() Kind         { return KindDelivered }
func (*Called) Kind() Kind            { return KindCalled }
func (*Synced) Kind() Kind            { return KindSynced }
func (*Logged) Kind() Kind            { return KindLogged }
