package intervene

import (
	"cmp"
	"container/list"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// maxShownBody is the longest body of a held write that is shown.
const maxShownBody = 64 << 10

// heldWrite is a write that a gate holds or has held.
type heldWrite struct {
	gate        *Gate           // that it was given to
	call        *observe.Called // the description of the request
	since       time.Time
	contentType string
	dryRun      bool
	getBody     func() (io.ReadCloser, error) // returns a copy; nil if there is no body

	// The gate's lock guards these.
	element *list.Element // nil once it is released
	refusal error         // set before released is closed
	stepped *Gate         // whose step has released it; set before released is closed

	released  chan struct{}
	done      chan struct{} // closed when the fields below are set
	abandoned bool          // canceled after it was released, and not sent
	change    beforeAfter   // of a step that has succeeded
	status    int
	err       string
	object    observe.Object // as it is after the write
}

func newHeldWrite(req *http.Request, g *Gate) *heldWrite {
	call := recording.DescribeRequest(req)
	return &heldWrite{
		gate:        g,
		call:        call,
		since:       time.Now(),
		contentType: req.Header.Get("Content-Type"),
		dryRun:      req.URL.Query().Has("dryRun"),
		getBody:     req.GetBody,
		object:      call.Object,
		released:    make(chan struct{}),
		done:        make(chan struct{}),
	}
}

// setResult notes the response to the write.
func (h *heldWrite) setResult(resp *http.Response, err error) {
	if err != nil {
		h.err = err.Error()
		return
	}
	call := *h.call
	call.Status = resp.StatusCode
	recording.PeekResponse(resp).AddTo(&call)
	h.status, h.err = resp.StatusCode, call.Error
	if !call.Failed() {
		h.object = call.Object
	}
}

// result returns the write with its response. The write must be done.
func (h *heldWrite) result() *control.SteppedWrite {
	s := &control.SteppedWrite{HeldWrite: h.describe(), Status: h.status, Error: h.err}
	if h.object.Name != "" {
		s.Object = h.object
	}
	if h.status > 0 && h.status < http.StatusBadRequest {
		s.Before, s.After, s.UnknownReason = h.change.redactedJSON(s.Object)
	}
	if s.Object.Kind == "" { // of a custom resource
		s.Object.Kind = cmp.Or(h.change.after.stringField("kind"), h.change.before.stringField("kind"))
	}
	return s
}

// describe returns the write as it is shown: without a body that is too long or
// of an unknown format.
func (h *heldWrite) describe() control.HeldWrite {
	d := control.HeldWrite{Verb: h.call.Verb, Object: h.call.Object, Subresource: h.call.Subresource, Since: h.since, DryRun: h.dryRun}
	c := h.decodeBody()
	if strings.HasPrefix(d.Verb, "delete") { // its options may be in the body
		d.DryRun = d.DryRun || c.field("dryRun") != nil
	}
	if d.Object.Name == "" && d.Verb == "create" {
		d.Object.Name = cmp.Or(c.stringField("metadata", "name"), c.stringField("metadata", "generateName"))
	}
	if d.Object.Kind == "" && d.Verb != "delete" && d.Verb != "deletecollection" && (d.Subresource == "" || d.Subresource == "status") {
		d.Object.Kind = c.stringField("kind") // of a custom resource, except in a merge patch and a JSON patch
	}
	if c.value != nil {
		d.Body, _ = c.redactedJSON(d.Object) // it was decoded from JSON
	}
	return d
}

// decodeBody returns the body of the write; empty if it is too long or of an
// unknown format.
func (h *heldWrite) decodeBody() (c objectContent) {
	if h.getBody == nil {
		return c
	}
	body, err := h.getBody()
	if err != nil {
		return c
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, maxShownBody+1))
	if err != nil || len(data) == 0 || len(data) > maxShownBody {
		return c
	}
	if c, err = decodeContent(h.contentType, data); err != nil {
		return objectContent{}
	}
	return c
}
