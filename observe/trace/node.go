package trace

import (
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Kind says what a Node is.
type Kind string

// The kinds of nodes. Outside is a write that no record tells of, but for the
// events that it made.
const (
	Call    Kind = "call"
	Outside Kind = "outside"
	Event   Kind = "event"
	Sync    Kind = "sync"
)

// Certainty says how sure a link is.
type Certainty string

// A link is exact when the records leave no other cause.
const (
	Exact  Certainty = "exact"
	Likely Certainty = "likely"
)

// Rule says how a link is known; the package comment explains each.
type Rule string

// The rules.
const (
	ByCall     Rule = "call"
	ByVersion  Rule = "version"
	ByDeletion Rule = "deletion"
	ByWrite    Rule = "write"
	ByAdd      Rule = "add"
	ByRetry    Rule = "retry"
	BySync     Rule = "sync"
	ByDelay    Rule = "delay"
)

// Cause is a node's link to the node that it follows from.
type Cause struct {
	ID        string    `json:"id"` // of the node that is the cause
	Certainty Certainty `json:"certainty"`
	Rule      Rule      `json:"rule"`
}

// Node is one thing that happened. What does not apply to its kind is empty.
type Node struct {
	ID         string        `json:"id"`
	Kind       Kind          `json:"kind"`
	Time       time.Time     `json:"time"`       // when it began; of a write from outside, when it was first seen
	After      time.Duration `json:"afterNanos"` // since the beginning of the trace
	Took       time.Duration `json:"tookNanos,omitempty"`
	Controller string        `json:"controller,omitempty"`
	Cause      *Cause        `json:"cause,omitempty"`

	// Of calls, events and writes from outside.
	Verb            string          `json:"verb,omitempty"`   // of a write from outside: create, update or delete, as it looked
	Change          observe.Change  `json:"change,omitempty"` // of an event
	Object          *observe.Object `json:"object,omitempty"`
	Subresource     string          `json:"subresource,omitempty"`
	ResourceVersion string          `json:"resourceVersion,omitempty"`
	Status          int             `json:"status,omitempty"`
	Conflict        bool            `json:"conflict,omitempty"`
	// Gone says that the object was no more after a write.
	Gone bool `json:"gone,omitempty"`
	// Watchers are how many controllers were told of a write.
	Watchers int `json:"watchers,omitempty"`

	// Of syncs.
	Queue    string        `json:"queue,omitempty"`
	Key      string        `json:"key,omitempty"`
	KeyBasis observe.Basis `json:"keyBasis,omitempty"`
	Waited   time.Duration `json:"waitedNanos,omitempty"`
	Retried  bool          `json:"retried,omitempty"`
	// Open is a sync of which only calls are known: it is still under way, or the
	// record of its end is not kept.
	Open     bool     `json:"open,omitempty"`
	LogLines []string `json:"said,omitempty"` // what its log tells of note

	Error string `json:"error,omitempty"`

	// Left out below: syncs that changed nothing, deletes of collections that
	// nobody was told of, and what is deeper than was asked for.
	Idle     int     `json:"idle,omitempty"`
	Empty    int     `json:"empty,omitempty"`
	Deeper   int     `json:"deeper,omitempty"`
	Children []*Node `json:"children,omitempty"`

	parent *Node
	root   bool // of the tree that it is in
	seq    uint64
	cause  uint64   // of a sync: the Seq of the event whose add it follows, as the queue says
	queues []string // of an event: where its handler added keys
	uid    string   // of a write's object, where its events or its answer tell

	adds   []uint64             // of an event: the numbers of these adds, each in its queue
	later  []observe.DelayedKey // of an event: the keys that its handler put off
	record *observe.Synced      // of a sync: what its record says
}

// End is when it was over.
func (n *Node) End() time.Time { return n.Time.Add(n.Took) }

// addedAt is when a sync's key was added to the queue, or a little later: the
// measures that it is reckoned from have gaps between them.
func (n *Node) addedAt() time.Time { return n.Time.Add(-n.Waited) }

// isWrite says whether n may have changed something.
func (n *Node) isWrite() bool {
	switch n.Verb {
	case "get", "list", "watch":
		return false
	}
	return n.Kind == Call || n.Kind == Outside
}

// failed says whether n is known to have failed.
func (n *Node) failed() bool {
	if n.Kind == Call {
		return n.Status == 0 || n.Status >= 400
	}
	return n.Error != ""
}

// setCause makes cause n's cause.
func (n *Node) setCause(cause *Node, c Certainty, r Rule) {
	n.parent, n.Cause = cause, &Cause{ID: cause.ID, Certainty: c, Rule: r}
}
