package clients

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"

	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/internal/peer"
	"github.com/ctrlplane/ctrlplane/internal/requestkind"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// maxParsedBody is how much of a response is parsed: enough for the object of a write,
// whose names and versions precede what may be long.
const maxParsedBody = 256 << 10

// maxProcessWait is how long the answer to a request waits at most until its process is found. The look-up begins with the request, and
// takes a millisecond, but longer if the process has thousands of files open, or the machine is busy.
const maxProcessWait = 25 * time.Millisecond

// maxName is the longest name of an object that upstream accepts.
const maxName = 253

// request records one request. It is the ResponseWriter of the request, too.
type request struct {
	http.ResponseWriter
	observer *observe.Observer
	client   *client
	kinds    *sync.Map // as Clients.kinds
	req      *http.Request
	call     *observe.Called
	gate     *intervene.Gate
	sync     *reportedSync // that makes the request; nil if it is not known
	watch    *watch        // nil if it is none
	process  *peer.Process // that sends it
	waited   time.Duration // until it was found: not a part of what the API server took
	conns    *connections  // as Clients.connections
	conn     *connection   // nil if no client watched over it, or it is not known whether it is that of one process
	// otherUsers are the clients of which one may be the same process as that which sends a write.
	otherUsers []*client
	lasts      bool      // it is a stream: it is recorded when it begins
	sent       *sentBody // the object of a write; nil if it has none

	isOpen      bool // the client has the watch
	isSwitching bool // to another protocol: the handler has answered so
	isCanceled  bool // a read that lasts, which the client has ended before it was answered
	hijacked    *hijackedConn
	returned    bool // the handler has, without a panic
	status      int
	body        *bytes.Buffer // the beginning of the response to a write, or of an error
	recorded    atomic.Bool
	origin      time.Time           // of a write, as ownVersion.origin
	served      *observe.ServedCall // nil if it cannot write
	limit       *rateLimit          // of its record; nil if it is authenticated
}

func newRequest(o *observe.Observer, f *frames, cl *client, req *http.Request, caller *observe.Caller) *request {
	r := &request{observer: o, client: cl, req: req, gate: cl.gate, call: recording.DescribeRequest(req)}
	c := r.call
	// The request need not be authenticated, and its path may be long and have any characters.
	for _, text := range []*string{&c.Object.Group, &c.Object.Resource, &c.Object.Namespace, &c.Object.Name, &c.Subresource} {
		*text = printable(*text, maxName)
	}
	if version := printable(c.Version, maxName); version != c.Version { // usually all records share it
		c.Version = version
	}
	c.Began, c.Controller = time.Now(), cl.name
	c.Client = caller
	if as := req.Header.Get("Impersonate-User"); as != "" {
		impersonating := *c.Client
		impersonating.Impersonates = cleanText(as)
		c.Client = &impersonating
	}
	if c.IsWrite() {
		c.FieldManager, c.Applied = fieldManager(req), r.isApply()
	}
	cl.reports.noteRequest(req.RemoteAddr)
	if header := req.Header.Get(SyncHeader); header != "" {
		var rc *reportedController
		if rc, r.sync = cl.reports.senderOf(header); rc != nil {
			r.gate = rc.gate
		}
		if r.sync != nil {
			c.Controller, c.Sync = rc.name, r.sync.id
		} else if c.IsWrite() {
			c.UnknownSync = cleanText(header)
		}
	}
	switch {
	case c.Verb == "watch":
		r.watch, r.lasts = newWatch(req, c, f), true
		c.ResourceVersion, r.watch.forUser = r.watch.ResourceVersion, forUser(c)
	case requestkind.IsStream(c.Object.Group, c.Object.Resource, c.Subresource):
		r.lasts = true
	}
	if r.watch != nil || c.IsWrite() && !r.lasts {
		// Upstream compresses long answers, and these could not be read here.
		req.Header.Del("Accept-Encoding")
	}
	r.keepSentBody()
	cl.countRequest(c.Began)
	cl.inFlight.Add(1)
	if r.isUnfinishedWork() {
		cl.unanswered.begin(r)
	}
	return r
}

// isUnfinishedWork reports whether a control plane is not settled before the request has
// been answered.
func (r *request) isUnfinishedWork() bool {
	c := r.call
	return c.IsWrite() && !c.IsRoutine() && !strings.HasPrefix(c.Object.Resource, "/") &&
		requestkind.ChangesState(c.Object.Group, c.Object.Resource, c.Subresource)
}

// isDryRun reports whether a write is to store nothing. The answer has the version that exists. The options of a deletion may be
// its body, in JSON or protobuf.
func (r *request) isDryRun() (is bool) {
	if r.call.Verb == "delete" {
		r.sent.read(func(sent []byte) {
			is = bytes.Contains(sent, []byte("\x2a\x03All")) || bytes.Contains(sent, []byte("dryRun")) && bytes.Contains(sent, []byte(`"All"`))
		})
	}
	return is || strings.Contains(r.req.URL.RawQuery, "dryRun=All")
}

// forcesConflicts reports whether a write is a server-side apply that takes fields from other field managers.
func (r *request) forcesConflicts() bool {
	if !r.call.Applied || !strings.Contains(r.req.URL.RawQuery, "force") {
		return false
	}
	values, force := r.req.URL.Query()["force"], false
	_ = runtime.Convert_Slice_string_To_bool(&values, &force, nil) // as upstream reads it: it returns no error
	return force
}

// fieldManager returns the field manager of a write, as the API server determines it.
func fieldManager(req *http.Request) string {
	if strings.Contains(req.URL.RawQuery, "fieldManager") {
		if m := req.URL.Query().Get("fieldManager"); m != "" {
			return cleanText(m)
		}
	}
	first, _, _ := strings.Cut(req.UserAgent(), "/")
	return path.Base(cleanText(cmp.Or(first, "unknown")))
}

// wrap returns w such that r sees the response. It can be flushed and hijacked if w can.
func (r *request) wrap(w http.ResponseWriter) http.ResponseWriter {
	r.ResponseWriter = w
	wrapped := responsewriter.WrapForHTTP1Or2(r)
	if h, ok := wrapped.(http.Hijacker); ok {
		return hijackable{wrapped.(flushable), h, r}
	}
	return wrapped
}

// flushable is what every connection of the API server can do.
type flushable interface {
	responsewriter.UserProvidedDecorator
	responsewriter.CloseNotifierFlusher
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (r *request) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (r *request) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.begin(status)
	}
	r.isSwitching = status == http.StatusSwitchingProtocols
	r.ResponseWriter.WriteHeader(status)
}

// begin notes the status of the response.
func (r *request) begin(status int) {
	r.status = status
	if r.isCanceled = status >= http.StatusBadRequest && r.hasEndedRead(); r.isCanceled {
		return
	}
	if !r.lasts {
		r.waited = r.process.Await(r.req.Context(), maxProcessWait)
	}
	if status >= http.StatusBadRequest || r.call.IsWrite() && !r.lasts {
		r.body = bodies.Get().(*bytes.Buffer)
		return
	}
	if r.watch != nil {
		r.watch.begin(r.Header().Get("Content-Type"))
		r.openWatch()
	}
	if r.lasts {
		r.record()
	}
}

// hasEndedRead reports whether the request is a watch, or another read that lasts, and the client has ended it: upstream answers it with
// an error, which the client does not receive. The control plane ends requests for another cause when it stops. The client may have
// ended other reads because they took longer than it waits.
func (r *request) hasEndedRead() bool {
	return r.lasts && !r.call.IsWrite() && errors.Is(context.Cause(r.req.Context()), context.Canceled)
}

func (r *request) openWatch() {
	r.isOpen = true
	r.conns.addWatch(r)
	r.client.addWatch(r.watch)
}

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Write implements http.ResponseWriter.
func (r *request) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.begin(http.StatusOK)
	}
	if r.body != nil {
		if room := maxParsedBody - r.body.Len(); room > 0 {
			r.body.Write(p[:min(room, len(p))])
		}
	}
	// The client may react to an event before Write returns.
	if r.isOpen && r.watch.sent(p) && !r.watch.object.IsRoutine() {
		r.client.reports.eventSent.Store(time.Now().UnixNano())
	}
	return r.ResponseWriter.Write(p)
}

// finish records the request when its handler has returned.
func (r *request) finish() {
	r.hijacked.end()
	if r.isOpen {
		r.client.removeWatch(r.watch)
		r.conns.removeWatch(r)
	}
	if r.status == 0 && r.hijacked == nil && r.returned && r.req.Context().Err() == nil {
		r.status = http.StatusOK // that is what net/http answers
	}
	r.record()
	if r.body != nil {
		r.body.Reset()
		bodies.Put(r.body)
		r.body = nil
	}
	r.sent.drop()
}

// record records the request, once. Others read the record from then on: it must not be
// changed.
func (r *request) record() {
	if r.recorded.Swap(true) {
		return
	}
	r.client.inFlight.Add(-1)
	now := time.Now()
	answer := r.describeOutcome(now)
	if r.isWorthRecording() {
		r.findCause(answer)
	}
	var ended bool
	r.call.Wrote, ended = r.served.End(r.recordLate()) // before others get the record
	r.noteEffects(now)
	if ended {
		r.appendRecord(r.call, now)
	}
}

// describeOutcome completes the record with what has become of the request, and returns what the answer says of the object.
func (r *request) describeOutcome(now time.Time) (answer recording.ResponseSummary) {
	c := r.call
	c.Took, c.Status, c.DryRun = now.Sub(c.Began)-r.waited, r.status, c.IsWrite() && r.isDryRun()
	if r.isCanceled {
		c.Status = 0
	}
	switch {
	case c.Status != 0:
	case r.req.Context().Err() == nil:
		c.Error = "the API server closed the connection without an answer"
	default:
		c.Error, c.Canceled = "the client went away before it was answered", r.hasEndedRead()
	}
	if r.body != nil && r.Header().Get("Content-Encoding") == "" {
		answer = recording.ParseResponse(r.Header().Get("Content-Type"), r.body.Bytes())
		answer.AddTo(c)
		if recording.IsNewEvent(c) && !c.Failed() {
			c.Event = recording.ParseEvent(r.body.Bytes())
		}
	}
	r.describeSent()
	r.complete(answer)
	if r.body != nil {
		c.Warnings = recording.Warnings(r.Header(), c)
	}
	c.AddWebhooks(r.served.Webhooks())
	return answer
}

// describeSent adds what only the object that was sent has.
func (r *request) describeSent() {
	c := r.call
	switch {
	case recording.IsBinding(c):
		c.BoundTo = words.Cut(r.sent.boundTo(), maxName)
	case recording.IsNewPod(c):
		c.BoundTo = words.Cut(r.sent.nodeName(), maxName)
	}
	if c.Conflict {
		c.ReadVersion = printable(r.sentObject().Metadata.ResourceVersion, maxName)
	}
	if recording.IsLeaseUpdate(c) {
		c.TakenBy = words.Cut(r.sent.takenBy(), maxName)
	}
}

// findCause adds what has likely caused a write. What the client itself has reported as the cause is noted only.
func (r *request) findCause(answer recording.ResponseSummary) {
	c := r.call
	switch {
	case !c.IsWrite() || requestkind.IsReview(c.Object.Group, c.Object.Resource, c.Subresource):
	case r.sync == nil:
		r.setLikelyCause(answer)
	case !c.Failed() && !c.DryRun:
		r.origin = c.Began
		r.client.written.add(ownVersion{version: c.ResourceVersion, status: c.Subresource == "status", origin: r.origin})
	}
}

// noteEffects notes what the request says of its client.
func (r *request) noteEffects(now time.Time) {
	c, cl := r.call, r.client
	cl.countCall(c, now)
	cl.noteWroteFirst(r)
	if r.sync != nil && r.isWorthRecording() {
		cl.reports.countCall(r.sync, c)
	}
	cl.noteHeld(c)
	if c.Verb == "get" || c.Verb == "list" {
		cl.noteRead(c)
	}
	switch {
	case c.Failed():
	case c.TakenBy != "":
		cl.noteLed(now)
	case c.Verb == "list":
		cl.polls.note(r)
		cl.noteList(r)
	case c.Verb == "get", c.Verb == "create", observe.Creates(c.Verb, c.Subresource, c.Status):
		cl.noteGet(c)
	}
	cl.refused.note(c, now)
	cl.permissions.note(c)
}

// recordLate returns what records the request when the storage has ended what it still writes; nil if it
// can write nothing.
func (r *request) recordLate() func([]observe.Written) {
	if !r.call.MayStillWrite() {
		return nil
	}
	c := *r.call
	return func(wrote []observe.Written) {
		c.Wrote = wrote
		r.appendRecord(&c, time.Now())
	}
}

// appendRecord appends the record of the request. After that the request does not count as unfinished, as for
// controllers.
func (r *request) appendRecord(c *observe.Called, at time.Time) {
	r.watchesAs().noteWritten(c.Wrote, r.origin)
	switch {
	case !r.isWorthRecording() || !r.limit.allow(at):
	case r.sync != nil:
		r.sync.controller.queue.Recorder().RecordReportedCall(c, at)
	default:
		r.observer.AppendAt(c, at)
	}
	if r.isUnfinishedWork() {
		r.observer.MarkActive(c.Controller, at)
		r.client.unanswered.end(r)
	}
}

// complete adds what a controller's call does not need: the kind of a custom resource, the owner of what it has created or
// could not create, and of what was refused, which object that was and why.
func (r *request) complete(object recording.ResponseSummary) {
	c := r.call
	r.completeKind(object)
	c.ToCreate = c.Failed() && (c.Verb == "patch" || c.Verb == "update") && r.served.IsCreation()
	if c.Failed() && c.Status != 0 {
		r.completeRefusedObject(strings.Contains(object.Message, observe.InjectedFault))
		c.Error = object.Refusal(c)
	}
	switch {
	case r.sync != nil || c.Subresource != "":
	case c.Failed() && (c.Verb == "create" || r.isApply()):
		c.Owner = firstOwner(r.sentObject())
	case observe.Creates(c.Verb, c.Subresource, c.Status):
		c.Owner = firstOwner(object)
	}
}

// completeKind adds the kind of a custom resource. An answer that does not have it, as that of a conflict, has the one
// that an earlier answer had: the same resource is always named in the same way.
func (r *request) completeKind(object recording.ResponseSummary) {
	c := r.call
	if c.Object.Kind != "" || c.Object.Resource == "" || strings.HasPrefix(c.Object.Resource, "/") {
		return
	}
	resource := c.Object.GroupResource()
	if isObject := c.Subresource == "" || c.Subresource == "status"; isObject && c.Verb != "deletecollection" && !c.Failed() {
		c.Object.Kind = object.ObjectKind()
	}
	if c.Object.Kind != "" {
		r.kinds.Store(resource, knownKind{c.Object.Kind, c.Object.Namespace == ""})
	} else if kind, ok := r.kinds.Load(resource); ok {
		c.Object.Kind = kind.(knownKind).kind
	}
}

// isWorthRecording reports whether a request gets a record: any for a resource, and
// others that fail or write. Clients ask for discovery and health all the time.
func (r *request) isWorthRecording() bool {
	isResource := !strings.HasPrefix(r.call.Object.Resource, "/")
	return isResource || r.call.Failed() || r.call.IsWrite()
}
