package trace

import (
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Kind says what a Node is.
type Kind string

// The kinds of nodes. Outside is a write without a recorded call, known only by the
// events that it caused.
const (
	Call    Kind = "call"
	Outside Kind = "outside"
	Event   Kind = "event"
	Sync    Kind = "sync"
)

// Certainty says how certain a link is.
type Certainty string

// A link is certain if the records rule out any other cause. That of a call outside of a sync is
// at most likely: its record names no sync.
const (
	Certain Certainty = "exact"
	Likely  Certainty = "likely"
)

// Rule says how a link is known; the package comment explains each.
type Rule string

// The rules, which the package comment explains.
const (
	ByCall     Rule = "call"
	ByKey      Rule = "key"
	ByStorage  Rule = "storage"
	ByVersion  Rule = "version"
	ByDeletion Rule = "deletion"
	ByWrite    Rule = "write"
	ByAdd      Rule = "add"
	ByRetry    Rule = "retry"
	BySync     Rule = "sync"
	ByDelay    Rule = "delay"
	ByMerge    Rule = "merge"
	ByReplaced Rule = "replaced"
	ByWatch    Rule = "watch"
	ByStatus   Rule = "status"
)

// Cause links a node to the node that caused it.
type Cause struct {
	ID        string    `json:"id"` // of the causing node
	Certainty Certainty `json:"certainty"`
	Rule      Rule      `json:"rule"`
}

// Node is something that happened. Fields that do not apply to its kind are empty.
type Node struct {
	ID         string        `json:"id"`
	Kind       Kind          `json:"kind"`
	Time       time.Time     `json:"time"`       // when it began; for an outside write, when it was first seen
	After      time.Duration `json:"afterNanos"` // since the start of the trace
	Took       time.Duration `json:"tookNanos,omitempty"`
	Held       time.Duration `json:"heldNanos,omitempty"` // of that, by an intervention
	Controller string        `json:"controller,omitempty"`
	Cause      *Cause        `json:"cause,omitempty"`

	// For calls, events and outside writes.
	Verb            string          `json:"verb,omitempty"`   // for an outside write: create, update, delete or list, judged by its event
	Change          observe.Change  `json:"change,omitempty"` // for an event
	Object          *observe.Object `json:"object,omitempty"`
	Subresource     string          `json:"subresource,omitempty"`
	Selected        bool            `json:"selected,omitempty"`     // a delete of a collection has a selector
	Impersonates    string          `json:"impersonates,omitempty"` // the user as whom a client has made the call, if another
	ResourceVersion string          `json:"resourceVersion,omitempty"`
	Status          int             `json:"status,omitempty"`
	Conflict        bool            `json:"conflict,omitempty"`
	// Gone is set if the object no longer existed after the write.
	Gone bool `json:"gone,omitempty"`
	// Marked is set if a delete has only marked the object: it goes when its finalizers
	// are removed or its containers have stopped.
	Marked bool `json:"marked,omitempty"`
	// BoundTo is the Node to which the call binds a Pod, or with which a client creates one.
	BoundTo string `json:"boundTo,omitempty"`
	// Taints are those for which taint-eviction-controller evicts the Pod of the call, if they are known.
	Taints []string `json:"taints,omitempty"`
	// Webhooks are the admission webhooks that have changed the object of the call, or were ignored, as of Called.
	Webhooks []observe.Webhook `json:"webhooks,omitempty"`
	// FieldManager is that of a client's server-side apply.
	FieldManager string `json:"fieldManager,omitempty"`
	// ToCreate is set for another write than a create that has failed and was to create its object, as of Called.
	ToCreate bool `json:"toCreate,omitempty"`
	// Forced are the conflicts that it has forced, as of Written.
	Forced *observe.ForcedFields `json:"forced,omitempty"`
	// Warnings are what the answer to a client's write warns of.
	Warnings []string `json:"warnings,omitempty"`
	// Watchers is the number of controllers that received an event of the write.
	Watchers int `json:"watchers,omitempty"`

	// Ignored is set for an event of a user's write for which a controller of an operator has certainly queued no key.
	Ignored bool `json:"ignored,omitempty"`
	// Became is, for an event, as of Delivered, of a controller if the event is a client's, unless the object was marked as deleted.
	Became observe.Transition `json:"became,omitempty"`

	// For syncs.
	Queue    string        `json:"queue,omitempty"`
	Key      string        `json:"key,omitempty"`
	KeyBasis observe.Basis `json:"keyBasis,omitempty"`
	Waited   time.Duration `json:"waitedNanos,omitempty"`
	Retried  bool          `json:"retried,omitempty"`
	// Open is set if only calls of the sync are known: it is still running, or the
	// record of its end was dropped.
	Open     bool     `json:"open,omitempty"`
	LogLines []string `json:"said,omitempty"` // notable lines of its log

	// Failed is set for a call or a sync that has failed: not for a deletion that has found the object gone.
	Failed bool   `json:"failed,omitempty"`
	Error  string `json:"error,omitempty"`

	// The number of nodes left out below: syncs without changes, deletes of collections without
	// events, other writes without changes, and nodes below the maximal depth.
	Idle            int     `json:"idle,omitempty"`
	Empty           int     `json:"empty,omitempty"`
	UnchangedWrites int     `json:"unchangedWrites,omitempty"`
	Deeper          int     `json:"deeper,omitempty"`
	Children        []*Node `json:"children,omitempty"`

	causedBy *Node // the node of Cause
	root     bool  // it is a root of its tree
	seq      uint64
	// claimedCause is the Seq of an event. For a sync: of the one that added its key, as the queue reports. For a client's
	// write: of the one that likely caused it.
	claimedCause uint64
	queues       []string // for an event: where its handler added keys
	uid          string   // of a write's object, if its events or its answer have it

	version     string          // of the API, for a call for a kind that is not built in
	owner       *observe.Object // as of Called
	unknownSync string          // as of Called
	readVersion string          // as of Called

	wrote     []observe.Written // by a call, as the storage reports it
	afterSync uint64            // for a call: the sync that started its goroutine and had ended
	alsoTo    []*Node           // the same event, as other controllers with the same record have received it
	deleting  bool              // an event with which the object is marked as deleted

	adds             []uint64             // for an event: the numbers of these adds in their queues
	delayedKeys      []observe.DelayedKey // for an event: the keys that its handler added with a delay
	delays           bool                 // as of Delivered
	noExecute        *observe.NoExecute   // for an event: as of Delivered
	record           *observe.Synced      // for a sync: its record
	writeRecorded    bool                 // for a list: the write that made the version is recorded
	lister           string               // for a list: who has listed the object; "" if several have
	injectedConflict bool                 // an intervention has answered with a conflict: nothing had modified the object
	// errorIsConflict is set for a sync whose error is that of a conflict of one of its calls.
	errorIsConflict bool
	// unrecorded is set for an outside write although the writes of clients are recorded: the API server itself
	// has most likely made it, as it updates the quotas of a namespace.
	unrecorded bool

	unexplained *observe.Received // as of Called
	dryRun      bool              // for a call: it is to store nothing
	byClient    bool              // for a call: a client outside of the process made it, or ctrlplane for its user
	aggregated  bool              // for a call: an aggregated API server has answered it
	unreported  bool              // for a call: see noteUnreported
	noStatus    bool              // for a call: its object existed, and had no status subresource
	statusSince bool              // for such a call: the object may have the subresource since
	noEffect    bool              // for a call: it changed nothing
	replaced    bool              // for the removal of an object by a restore: the snapshot has another object of this name
	running     bool              // for an open sync: it is known to have begun at Time, and to run
	processGone bool              // for a running sync: its process has closed its connection
	modifiedBy  []*Node           // for a conflict: the first and the last write that had changed the object, as far as they are known
	isRetried   bool              // for a conflict: its client has repeated the write until it succeeded
	markedBy    *Node             // for the removal of an object: the delete that had marked it before

	foreignOwners []string // for a sync of the garbage collector: the owners that it found in another namespace, as "KIND KEY"

	eviction    *eviction    // for a write of taint-eviction-controller: the taints that it follows from, if they are known
	absentOwner *absentOwner // for a delete of the garbage collector: the owner that did not exist, if it is known
	start       *dueStart    // for a write of the CronJob controller: the start that was due, if a timer has led to it
	missingNode string       // for a delete of pod-garbage-collector-controller: the node of the Pod, if that did not exist
}

// Record returns the Seq of the record of a call; 0 for other nodes.
func (n *Node) Record() uint64 {
	if n.Kind != Call {
		return 0
	}
	return n.seq
}

// isOutside reports whether n is a write from outside of the process, or of ctrlplane for its user.
func (n *Node) isOutside() bool { return n.Kind == Outside || n.byClient }

// End returns when the node ended.
func (n *Node) End() time.Time { return n.Time.Add(n.Took) }

// addedAt returns when a sync's key was added to the queue, or slightly later: there
// are gaps between the measured times that it is computed from.
func (n *Node) addedAt() time.Time { return n.Time.Add(-n.Waited) }

// isWrite reports whether n may have changed an object.
func (n *Node) isWrite() bool {
	return !observe.IsRead(n.Verb) && (n.Kind == Call || n.Kind == Outside)
}

// isBinding reports whether n binds a Pod to a Node.
func (n *Node) isBinding() bool { return n.Verb == "create" && n.Subresource == "binding" }

// isEviction reports whether n evicts a Pod: it deletes the Pod if its budget allows that.
func (n *Node) isEviction() bool { return n.Verb == "create" && n.Subresource == "eviction" }

// isStored reports whether the storage reports that n has written its object or, of a collection, one
// of its objects: also a write that got an error or no answer may have.
func (n *Node) isStored() bool {
	return n.Object != nil && slices.ContainsFunc(n.wrote, func(w observe.Written) bool { return n.isTarget(placeOfWritten(w)) })
}

// isTarget reports whether a place is that of n's object or, if that has no name, one of its collection.
func (n *Node) isTarget(p place) bool {
	of := placeOf(n.Object)
	if of.name == "" {
		of.name = p.name
	}
	return p == of
}

// gotError reports whether n is known to have failed, or has found gone what it was to delete.
func (n *Node) gotError() bool {
	if n.Kind == Call {
		return n.Status == 0 || n.Status >= 400
	}
	return n.Error != ""
}

// foundGone reports whether a delete has found that its object did not exist.
func (n *Node) foundGone() bool { return n.gotError() && !n.Failed }

// setCause sets the cause of n, in place of an earlier one.
func (n *Node) setCause(cause *Node, c Certainty, r Rule) {
	n.causedBy, n.Cause = cause, &Cause{ID: cause.ID, Certainty: c, Rule: r}
}
