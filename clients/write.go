package clients

import (
	"cmp"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/internal/peer"
	"github.com/ctrlplane/ctrlplane/observe"
)

// write is a write whose cause is wanted, and what is known of its client.
type write struct {
	client          *client
	process         *peer.Process // that makes it
	conn, forUser   string        // over which connection; see forUser
	object          observe.Object
	target          string // what it changes
	owners          []recording.OwnerReference
	names           namespacedNames // in the answer
	mentioned       objectMentions  // how others name the object
	base, made      string          // the versions that it changes, if it says so, and has made, if it has
	began, answered time.Time
	read, created   time.Time // when the client has read the object from the API server before, or created it; zero if it has not
	oldest          time.Time // events before do not count
	workBegan       time.Time // when the client had begun to make one request after the other, such as reads
	failed          bool
	conflict        bool // the object had been modified
	held            bool // an intervention has held or delayed it
	existed         bool // the object did before
	isDuplicate     bool // it has failed to create the object, which existed
	isStatus        bool // it is of the status only
	deletes         bool
	evicts          bool
	routine         bool // no worker waits for it
	dryRun          bool
	baseEvent       *event      // with which the client has received the version that it changes; nil if it is not known
	repeated        failedWrite // the last attempt, if that has failed
	again           *event      // to whose run it belongs, although that has changed the object before; nil if there is none
	unseen          []*event    // of the written object, which the client had not seen when it read that

	isWorkers    bool      // a process without watches makes it, perhaps for the only one that has watches
	neverWatched bool      // the client, which has listed what may be its reason
	watches      []*watch  // whose events may be its reason
	reported     bool      // the client reports the syncs in which it reacts to events, and this write is of none
	events       []*event  // the recent ones that the client had received
	related      []*event  // of these, the ones of related objects
	ofNamespace  []*event  // of these, the ones of the namespace of the written object
	lost         time.Time // when the last event was sent of those that are forgotten
	versions     *ownVersions
	busy         period       // the last one before the write
	idle         idlePeriod   // the last one before the write
	bursts       []time.Time  // when the last ones began, with the one of the write
	runs         []startedRun // the last ones, some of which may have begun after the write
	heldReads    heldTimes    // before the write
}

// namespacedNames are the names in an object of a namespace.
type namespacedNames struct {
	namespace string
	recording.Mentions
}

// newWrite describes a write by what was answered or, if that is not the object, by what was
// sent.
func newWrite(r *request, answer recording.ResponseSummary) *write {
	c := r.call
	isEviction := c.Verb == "create" && c.Subresource == "eviction"
	w := &write{
		process: r.process, object: c.Object, target: c.Object.GroupResource() + "/" + c.Subresource + "/" + c.Object.Key(),
		began: c.Began, answered: c.Began.Add(c.Took), failed: c.IsFailure(), isStatus: c.Subresource == "status", conflict: c.Conflict, routine: c.IsRoutine(),
		deletes: c.Verb == "delete" || c.Verb == "deletecollection" || isEviction, evicts: isEviction,
		existed: c.Verb != "create" && !observe.Creates(c.Verb, c.Subresource, c.Status) && c.Status != http.StatusNotFound,
	}
	w.conflict, w.held = w.conflict && !c.IsInjected(), c.Held > 0
	w.conn, w.forUser = r.req.RemoteAddr, forUser(c)
	w.isDuplicate = c.Verb == "create" && answer.Reason == string(metav1.StatusReasonAlreadyExists)
	if w.object.IsNamespace() { // its request claims to be in that namespace
		w.object.Namespace = ""
	}
	w.names.namespace = w.object.Namespace
	sent := r.sentObject()
	if c.Verb == "update" || c.Verb == "patch" {
		w.base = sent.Metadata.ResourceVersion
	}
	if w.dryRun = c.DryRun; !w.dryRun && !c.Failed() {
		w.made = c.ResourceVersion
	}
	if c.Failed() {
		answer = sent
		w.names.Mentions = r.sent.mentions()
	} else if r.body != nil {
		w.names.Mentions = recording.MentionsIn(r.body.Bytes()[:min(r.body.Len(), maxSearchedBody)], maxMentions)
	}
	w.mentioned = newObjectMentions(w.object.Namespace, w.object.Name)
	w.owners, w.object.UID = answer.Metadata.OwnerReferences, cmp.Or(w.object.UID, answer.Metadata.UID)
	return w
}

// isRelatedTo reports whether the object of an event is the written one, or owns it, or is
// owned by it or by one of its owners, or is named in the answer, as its owner may be, or has no owner and names the written one.
func (w *write) isRelatedTo(e *event) bool {
	return e.isRelatedTo(w.object, w.owners) || e.isNamedIn(&w.names) || e.isOwnedByNamed(&w.names) || e.isNaming(&w.mentioned)
}

// isOnlyNamedBy reports whether all that relates an event to the write is that its object contains the name of the written one,
// as it may by chance.
func (w *write) isOnlyNamedBy(e *event) bool {
	return !e.isRelatedTo(w.object, w.owners) && !e.isNamedIn(&w.names) && !e.isOwnedByNamed(&w.names)
}

// isNamespace reports whether an event is of the namespace of the written object.
func (w *write) isNamespace(e *event) bool {
	return e.name == w.object.Namespace && e.object().IsNamespace()
}

// namesInRelated returns what the objects that are related to the written one name, by their namespaces.
func (w *write) namesInRelated() (list []*namespacedNames) {
	found := map[string][]recording.Mentions{}
	for _, e := range w.related {
		if e.isRelatedTo(w.object, w.owners) {
			found[e.namespace] = append(found[e.namespace], e.names)
		}
	}
	for namespace, lists := range found {
		list = append(list, &namespacedNames{namespace, recording.JoinMentions(lists...)})
	}
	return list
}
