package observe

import (
	"cmp"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind names a type of event in JSON and in queries.
type Kind string

// The kinds of events. Each has an event type of the same name.
const (
	KindBootStep          Kind = "bootStep"
	KindControllerChanged Kind = "controllerChanged"
	KindQueueChanged      Kind = "queueChanged"
	KindDelivered         Kind = "delivered"
	KindCalled            Kind = "called"
	KindSynced            Kind = "synced"
	KindLogged            Kind = "logged"
)

// Kinds lists all kinds.
var Kinds = []Kind{KindBootStep, KindControllerChanged, KindQueueChanged, KindDelivered, KindCalled, KindSynced, KindLogged}

// Event is something that happened: a pointer to one of the types below. It is
// immutable once it is appended. In the journal, and nowhere else, most calls are a *callEntry:
// code of this package that reads the journal needs a case for that beside *Called.
type Event interface{ Kind() Kind }

// Object identifies an API object. Unknown fields are empty.
type Object struct {
	Group     string `json:"group,omitempty"`
	Resource  string `json:"resource,omitempty"` // plural, lower case, as in URLs
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"` // empty for cluster-scoped objects, Namespaces included
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
}

// Same reports whether o and p identify the same object. UIDs are compared only
// if both are known.
func (o Object) Same(p Object) bool {
	return o.Group == p.Group && o.Resource == p.Resource && o.Namespace == p.Namespace && o.Name == p.Name &&
		(o.UID == "" || p.UID == "" || o.UID == p.UID)
}

// Key returns NAMESPACE/NAME, or NAME for an object without a namespace.
func (o Object) Key() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// GroupResource returns RESOURCE or RESOURCE.GROUP.
func (o Object) GroupResource() string {
	if o.Group == "" {
		return o.Resource
	}
	return o.Resource + "." + o.Group
}

// String returns the kind, or the resource and its group if the kind is unknown, and the key.
func (o Object) String() string {
	what := o.Kind
	if what == "" {
		what = o.GroupResource()
	}
	if o.Name == "" {
		if o.Namespace == "" {
			return what
		}
		return what + " in " + o.Namespace
	}
	return what + " " + o.Key()
}

// BootStep is a finished step of the start.
type BootStep struct {
	Step  string        `json:"step"`
	Took  time.Duration `json:"tookNanos"`
	Error string        `json:"error,omitempty"`
}

// ControllerChanged is a change of a controller's state.
type ControllerChanged struct {
	Controller string `json:"controller"`
	State      string `json:"state"`
	Reason     string `json:"reason,omitempty"`
	// Interventions are set on the controller, or client; the text of Reason begins with them.
	Interventions Interventions `json:"interventions,omitzero"`
	// Process is the state of an operator's controller without its pause, unless it is running.
	Process string `json:"process,omitempty"`
	Gone    Gone   `json:"gone,omitempty"`
}

// ProcessState returns the state without a pause.
func (c *ControllerChanged) ProcessState() string { return cmp.Or(c.Process, c.State) }

// QueueChanged holds a queue's numbers. It is recorded once a second while they
// change.
type QueueChanged struct {
	Controller string `json:"controller,omitempty"`
	Queue      string `json:"queue"`
	Depth      int64  `json:"depth"`
	MaxDepth   int64  `json:"maxDepth"` // since the previous event
	InFlight   int64  `json:"inFlight"`
	Adds       int64  `json:"adds"`
	Gets       int64  `json:"gets"`
	Done       int64  `json:"done"`
	Retries    int64  `json:"retries"`
}

// Change is the kind of notification that an informer sends to an event handler.
type Change string

// The kinds of notifications. Listed is for an object that existed when the
// handler was added, Resynced for one that has not changed.
const (
	Listed   Change = "listed"
	Added    Change = "added"
	Updated  Change = "updated"
	Resynced Change = "resynced"
	Deleted  Change = "deleted"
)

// Transition is what an object becomes: the condition Ready of a Pod or a Node changes, a Pod or a Job ends, a Node is cordoned
// or uncordoned, or a PersistentVolumeClaim is bound.
type Transition string

// The transitions. A Pod that ends is not said to be not ready.
const (
	BecameReady         Transition = "Ready"
	BecameNotReady      Transition = "NotReady"
	BecameSucceeded     Transition = "Succeeded"
	BecameFailed        Transition = "Failed"
	BecameBound         Transition = "Bound"
	BecameUnschedulable Transition = "Unschedulable"
	BecameSchedulable   Transition = "Schedulable"
)

// Delivered is an informer event that was delivered to a controller's handler, or an
// event of a watch that was sent to a client outside of the process. Of the latter only
// those are recorded that likely caused a write.
type Delivered struct {
	Controller string `json:"controller"` // or the client's name
	// AlsoTo names other controllers that have received the event within a second and whose
	// handlers, as the one of Controller, have added no key, except to queues of which idle syncs
	// are not recorded: see [Recorder.SkipIdleSyncsOf]. Took is of the first one.
	AlsoTo          []string `json:"alsoTo,omitempty"`
	Change          Change   `json:"change"`
	Object          Object   `json:"object"`
	ResourceVersion string   `json:"resourceVersion,omitempty"`
	// Queues names the queues that the handler added keys to, one entry per add. Of queues of which idle
	// syncs are not recorded, most often only deletions have it.
	Queues []string `json:"queues,omitempty"`
	// Adds holds the number of each of these adds within its queue, from 1.
	Adds []uint64 `json:"adds,omitempty"`
	// Deleting is set if the object is marked as deleted since this version: it has a
	// deletion timestamp, and the version that was delivered before has none.
	Deleting bool `json:"deleting,omitempty"`
	// Became is what the object is since this version, and was not with the version that was delivered before.
	// Events of clients lack it.
	Became Transition `json:"became,omitempty"`
	// Later lists the keys that the handler added with a delay.
	Later []DelayedKey `json:"later,omitempty"`
	// Delays is set if the handler of an operator's controller has also added a key with a delay that is not known, or that does
	// not count, as the key is queued or due earlier.
	Delays bool          `json:"delays,omitempty"`
	Took   time.Duration `json:"tookNanos"` // in the handler
	// TakenBy is the holder that has taken over a Lease with this version.
	TakenBy string `json:"takenBy,omitempty"`
	// NoExecute is what taint-eviction-controller acts on, if this version of a Node or a Pod has some of it or changes it.
	NoExecute *NoExecute `json:"noExecute,omitempty"`
	// Unchanged is set if this version differs from the one that was delivered before in
	// nothing but heartbeats, or in nothing that the handler receives.
	Unchanged bool `json:"-"`
}

// DelayedKey is a key that is added to a queue when it is due.
type DelayedKey struct {
	Queue string    `json:"queue"`
	Due   time.Time `json:"due"`
}

// NamespaceTerminating is in the error of a creation in a namespace that is being deleted: upstream's admission plugin
// NamespaceLifecycle says so.
const NamespaceTerminating = "because it is being terminated"

// Verbs are the verbs of requests, as in RBAC.
var Verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// IsRead reports whether requests with a verb only read.
func IsRead(verb string) bool { return verb == "get" || verb == "list" || verb == "watch" }

// VerbRestore is the verb of a record that says what the restore of a snapshot has done to
// an object. Its Controller is Own.
const VerbRestore = "restore"

// Called is an API call of a controller, or of a client outside of the process. It is
// recorded when the answer arrives; a watch is answered when it begins.
type Called struct {
	Controller  string `json:"controller"` // or the client's name
	Verb        string `json:"verb"`       // one of Verbs, or VerbRestore; empty for another HTTP method
	Object      Object `json:"object"`
	Subresource string `json:"subresource,omitempty"`
	// Version is that of the API, such as v1, for a kind that is not built in.
	Version string        `json:"version,omitempty"`
	Status  int           `json:"status"` // HTTP; 0 if there was no answer
	Began   time.Time     `json:"began,omitzero"`
	Took    time.Duration `json:"tookNanos"`
	// Held is how much of that an intervention has held or delayed the call.
	Held time.Duration `json:"heldNanos,omitempty"`
	// ResourceVersion is the object's version after a write. For a client's watch it is
	// the version after which events are requested.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Selected is set for a delete of a collection that has a label or field selector.
	Selected bool `json:"selected,omitempty"`
	// Aggregated is set for a call of a client that an aggregated API server answers, whose storage
	// reports nothing.
	Aggregated bool `json:"aggregated,omitempty"`
	Conflict   bool `json:"conflict,omitempty"` // the object had been modified, or deleted, since it was read
	// ReadVersion is the version on which the write of a client is based that had a Conflict, if the client has sent it.
	ReadVersion string `json:"readVersion,omitempty"`
	// Canceled is set if the caller itself has ended a read before it was answered, of a client only a watch or a log.
	Canceled bool `json:"canceled,omitempty"` // beside the others: a Called takes less memory
	// DryRun is set for a write of a client that is to store nothing.
	DryRun bool `json:"dryRun,omitempty"`
	// Applied is set for a server-side apply of a client, whose request names its FieldManager.
	Applied bool `json:"applied,omitempty"`
	// ToCreate is set for a patch or an update of a client that has failed and was to create its object.
	ToCreate bool   `json:"toCreate,omitempty"`
	Error    string `json:"error,omitempty"`
	// Wrote lists what the call has written, as the storage reports it. It is empty for
	// a call without an effect, and with storage that does not report.
	Wrote []Written `json:"wrote,omitempty"`
	// Sync is the ID of the sync that made the call; 0 if unknown.
	Sync uint64 `json:"sync,omitempty"`
	// UnknownSync is what the header of a client's write names as its sync, if the client has reported no such sync.
	UnknownSync string `json:"unknownSync,omitempty"`
	// AfterSync is the ID of the sync that started the goroutine of the call, if that
	// sync had ended; otherwise 0.
	AfterSync uint64 `json:"afterSync,omitempty"`
	// Client is who made the call, if that is a client outside of the process; empty for what ctrlplane
	// does for its user: a restore, and calls with a context of ForUser.
	Client       *Caller `json:"client,omitempty"`
	FieldManager string  `json:"fieldManager,omitempty"`
	// Cause is the Seq of the Delivered, on one of the watches of the client or of its process, that likely
	// caused its write, or of what it had listed before its first watch; 0 if none did.
	Cause uint64 `json:"cause,omitempty"`
	// Unexplained is set for a write without a Cause, or with one that counts only if the client opens a watch later, of a client whose process has watches, or had some just now: it may follow
	// from an event, or from a list if the process has listed the kind of the owner before. A client that reports its syncs must
	// have received an event of a related object. It is the last one that the client had received of another client's change in
	// the namespace of the object or outside of any, or in any if the object is outside, empty if it had received none.
	Unexplained *Received `json:"unexplained,omitempty"`
	// Owner is the first owner of an object that a client has created, or has failed to create or to apply, if the sync that
	// made the call is not known: kind, name and UID, as its owner reference has them.
	Owner *Object `json:"owner,omitempty"`
	// Event is the content of the Kubernetes Event that the call creates.
	Event *KubernetesEvent `json:"event,omitempty"`
	// BoundTo is the Node to which the call binds a Pod, or with which a client creates one.
	BoundTo string `json:"boundTo,omitempty"`
	// TakenBy is the holder that takes over a Lease by the call.
	TakenBy string `json:"takenBy,omitempty"`
	// Webhooks are the admission webhooks that have changed the object, or could not be called and were ignored.
	Webhooks []Webhook `json:"webhooks,omitempty"`
	// Warnings are what the answer to a client's write warns of, such as an unknown field; none of a write of a Secret.
	Warnings []string `json:"warnings,omitempty"`
}

// Received is an event on a watch of a client outside of the process, of a change that another client has made.
type Received struct {
	Time   time.Time `json:"time,omitzero"`
	Change Change    `json:"change,omitempty"`
	Object Object    `json:"object,omitzero"`
	Client string    `json:"client,omitempty"` // the client's name, if another one of the same process than the writing one
}

// KubernetesEvent is the content of an Event, an API object that says what happened to
// another one.
type KubernetesEvent struct {
	Type      string `json:"type"` // Normal or Warning
	Reason    string `json:"reason"`
	Note      string `json:"note,omitempty"`
	Regarding Object `json:"regarding"`
}

// IsWarning reports whether the event is about something that is wrong.
func (e *KubernetesEvent) IsWarning() bool { return e != nil && e.Type == "Warning" }

// Written is a version of an object that a call has stored, or its removal.
type Written struct {
	Resource        string `json:"resource"` // RESOURCE or RESOURCE.GROUP
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name"`
	ResourceVersion string `json:"resourceVersion"`
	Deleted         bool   `json:"deleted,omitempty"`
	// Forced are the conflicts that a server-side apply has forced with this version; nil if none.
	Forced *ForcedFields `json:"forced,omitempty"`
}

// VersionNumber returns the number of a resource version, by which versions are ordered; 0 if it is not a number, and so not
// ordered.
func VersionNumber(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0 // not the largest number, for one that is larger
	}
	return n
}

// IsWrite reports whether the call can change an object.
func (c *Called) IsWrite() bool { return !IsRead(c.Verb) }

// Creates reports whether a write creates its object: with server-side apply it is a patch that the API
// server answers with 201, and some kinds are created by an update.
func Creates(verb, subresource string, status int) bool {
	return subresource == "" && (verb == "create" || (verb == "patch" || verb == "update") && status == http.StatusCreated)
}

// InjectedFault is in the error of each call that an intervention has made fail.
const InjectedFault = "fault injected by ctrlplane"

// IsInjected reports whether an intervention has made the call fail. What it then calls a
// conflict is none: the object was not modified.
func (c *Called) IsInjected() bool { return strings.Contains(c.Error, InjectedFault) }

// NotPerformed is in the error of each write whose client canceled it while an intervention held or delayed it.
const NotPerformed = "the request was canceled before it was performed"

// RestoredMeanwhile is in the error of each write that waited during a restore, which refuses it. That it then
// is a conflict does not mean that its object was modified.
const RestoredMeanwhile = "the control plane was restored to another state while this write waited"

// SaysRestored reports whether a message has RestoredMeanwhile.
func SaysRestored(message string) bool { return strings.Contains(message, RestoredMeanwhile) }

// IsRoutine reports whether the call concerns a Lease or an Event.
func (c *Called) IsRoutine() bool { return c.Object.IsRoutine() }

// IsRoutine reports whether the object is a Lease or an Event. These are written frequently, and
// have no effects on controllers. Custom resources may have the same plural.
func (o Object) IsRoutine() bool { return o.IsLease() || o.IsEvent() }

// IsLease reports whether the object is a Lease.
func (o Object) IsLease() bool { return o.Resource == "leases" && o.Group == "coordination.k8s.io" }

// IsNamespace reports whether the object is a Namespace.
func (o Object) IsNamespace() bool { return o.Resource == "namespaces" && o.Group == "" }

// IsEvent reports whether the object is an Event, which two groups serve.
func (o Object) IsEvent() bool {
	return o.Resource == "events" && (o.Group == "" || o.Group == "events.k8s.io")
}

// IsAbsence reports whether a client has found that an object does not exist. It asks
// before it creates one: that is no failure.
func (c *Called) IsAbsence() bool {
	return c.Client != nil && c.Verb == "get" && c.Status == http.StatusNotFound
}

// SaysDeleted reports whether a message is upstream's for the conflict of an update or a server-side apply that could
// create an object, but has the UID of a deleted one.
func SaysDeleted(message string) bool {
	return strings.HasSuffix(strings.TrimSpace(message), "UID in object meta:") ||
		strings.Contains(message, "uid mismatch: ") && strings.HasSuffix(message, ", and no existing object was found")
}

// StaleCacheOf returns the resource, as RESOURCE.GROUP, of which the cache of a controller did not yet have what the
// controller itself had written, if an error is upstream's for that. It is normal: the sync is repeated. Otherwise it is
// empty.
func StaleCacheOf(message string) string {
	if !strings.HasPrefix(message, "read version: ") || !strings.Contains(message, " is not as new as written version: ") {
		return ""
	}
	_, resource, _ := strings.Cut(message, " for group resource ")
	return resource
}

// FoundGone reports whether a deletion has found that the object does not exist any more,
// because another client was faster: that is not a failure. That the server does not serve the kind
// is one, and so is an injected fault.
func (c *Called) FoundGone() bool {
	return c.Verb == "delete" && c.Status == http.StatusNotFound && !strings.Contains(c.Error, "could not find the requested resource") && !c.IsInjected()
}

// foundUnserved reports whether an informer has found that its kind is not served any more. Upstream
// never stops the informer of a kind whose CustomResourceDefinition was deleted: it tries again forever.
func (c *Called) foundUnserved() bool {
	return c.Controller == "shared-informers" && (c.Verb == "list" || c.Verb == "watch") && c.Status == http.StatusNotFound && !c.IsInjected()
}

// IsFailure reports whether the call has failed, other than a deletion that has found the object gone,
// or an informer that has found its kind gone.
func (c *Called) IsFailure() bool { return c.Failed() && !c.FoundGone() && !c.foundUnserved() }

// ReportsWrites reports whether the storage has reported what the call has written. An etcd
// cluster of the user's reports nothing: a call without Wrote may have had an effect then. What a
// restore has written is always known.
func (c *Called) ReportsWrites() bool { return len(c.Wrote) > 0 && c.Verb != VerbRestore }

// ReportWrites reports whether the storage has reported what one of some calls has written.
func ReportWrites(records []Record) bool {
	return slices.ContainsFunc(records, func(r Record) bool {
		c, ok := r.Event.(*Called)
		return ok && c.ReportsWrites()
	})
}

// RemovedNothing reports whether the call has deleted a collection of which there was nothing, as the namespace controller does
// with each kind at each retry, and a lesson at its end. Unless the storage reports what calls have written, that is not known.
func (c *Called) RemovedNothing(reported bool) bool {
	return reported && c.Verb == "deletecollection" && !c.Failed() && len(c.Wrote) == 0
}

// isPlainRead reports whether the call only reads, as expected.
func (c *Called) isPlainRead() bool { return !c.IsWrite() && (!c.IsFailure() || c.IsAbsence()) }

// Failed reports whether the call was rejected or got no answer that its caller waited for.
func (c *Called) Failed() bool { return !c.Canceled && c.Status == 0 || c.Status >= 400 }

// MayStillWrite reports whether the storage may write for the call although it was answered: upstream goes on with
// a write whose caller has gone, or whose time is over.
func (c *Called) MayStillWrite() bool {
	return c.IsWrite() && (c.Status == 0 || c.Status >= http.StatusInternalServerError)
}

// Basis says how an inferred value is known.
type Basis string

// The bases, from most to least reliable: the queue exposes its keys; the worker's own
// log line names the key; the object of its calls is likely the key or related to it; the sync that
// requeued a key for the time at which the queue's timer added it is likely of the same key; the
// object whose event caused the oldest add is likely the origin of the key.
const (
	BasisUnknown Basis = ""
	BasisQueue   Basis = "queue"
	BasisLog     Basis = "log"
	BasisCall    Basis = "call"
	BasisTimer   Basis = "timer"
	BasisEvent   Basis = "event"
)

// Inferred reports whether a value on this basis is likely but not certain.
func (b Basis) Inferred() bool { return b == BasisCall || b == BasisTimer || b == BasisEvent }

// Certain reports whether a key on this basis is certain.
func (b Basis) Certain() bool { return b == BasisQueue || b == BasisLog }

// Synced is a completed sync: a worker's work on one key of a queue.
type Synced struct {
	Controller string `json:"controller,omitempty"`
	Queue      string `json:"queue"`
	ID         uint64 `json:"id"` // of the sync, for Called and Logged
	Key        string `json:"key,omitempty"`
	KeyBasis   Basis  `json:"keyBasis,omitempty"`
	// Add is the number of the add that queued the key, as in Delivered.Adds; 0 if
	// unknown. If several adds are possible, Add is the first and LastAdd the last.
	Add     uint64 `json:"add,omitempty"`
	LastAdd uint64 `json:"lastAdd,omitempty"`
	// Cause is the Seq of the Delivered whose handler made that add, CauseSync the
	// ID of the sync that made it, or of one of the same key that has ended, and of
	// which a goroutine made it; 0 if not applicable or unknown. If that one was idle,
	// it may have no record. Timed is set if the queue's timer made it.
	Cause     uint64 `json:"cause,omitempty"`
	CauseSync uint64 `json:"causeSync,omitempty"`
	Timed     bool   `json:"timed,omitempty"`
	// Sure is set if the cause is certain: all adds that match the key's waiting
	// time have the same cause.
	Sure    bool          `json:"sure,omitempty"`
	Waited  time.Duration `json:"waitedNanos"`       // in the queue
	Took    time.Duration `json:"tookNanos"`         // the work
	Retried bool          `json:"retried,omitempty"` // its key is added again after a delay
	Due     time.Time     `json:"due,omitzero"`      // when the key is added again; zero if that is not known
	Error   string        `json:"error,omitempty"`
	// Reads and Writes count the calls that the sync made.
	Reads  int `json:"reads,omitempty"`
	Writes int `json:"writes,omitempty"`
}

// Failed reports whether the sync is known to have failed. A requeued key alone
// is not a failure: many controllers check an object again later.
func (s *Synced) Failed() bool { return s.Error != "" }

// Logged is a line of a controller's log.
type Logged struct {
	Controller string `json:"controller"`
	Level      int    `json:"level"` // as in slog: 8 error, 4 warning, 0 info, -4 klog's V(4)
	Message    string `json:"message"`
	Attrs      []Attr `json:"attrs,omitempty"`
	Sync       uint64 `json:"sync,omitempty"`
}

// IsError reports whether the line is an error.
func (l *Logged) IsError() bool { return l.Level >= int(slog.LevelError) }

// IsWarning reports whether the line is a warning.
func (l *Logged) IsWarning() bool { return l.Level >= int(slog.LevelWarn) && !l.IsError() }

// Attr is a key and a value of a log line.
type Attr struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// String returns KEY=VALUE, with a value of several words, or an empty one, in quotes.
func (a Attr) String() string {
	if a.Value == "" || strings.ContainsAny(a.Value, " \t\n\"") {
		return a.Key + "=" + strconv.Quote(a.Value)
	}
	return a.Key + "=" + a.Value
}

func (*BootStep) Kind() Kind          { return KindBootStep }
func (*ControllerChanged) Kind() Kind { return KindControllerChanged }
func (*QueueChanged) Kind() Kind      { return KindQueueChanged }
func (*Delivered) Kind() Kind         { return KindDelivered }
func (*Called) Kind() Kind            { return KindCalled }
func (*Synced) Kind() Kind            { return KindSynced }
func (*Logged) Kind() Kind            { return KindLogged }
