package controllers

import (
	"cmp"
	"container/list"
	"io"
	"net/http"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// maxShownBody is the longest body that is shown of a held write.
const maxShownBody = 64 << 10

// heldWrite is a write that waits at a gate, or has waited there.
type heldWrite struct {
	call        *observe.Called // how the write was described
	since       time.Time
	contentType string
	getBody     func() (io.ReadCloser, error) // a copy of it; nil if there is none

	// The gate's lock guards these.
	element *list.Element // nil once it is let go
	refusal error         // why, before released is closed
	byStep  bool          // it was let go by a step, before released is closed

	released  chan struct{}
	done      chan struct{} // closed when the fields below are set
	abandoned bool          // up, just when it was let go
	change    beforeAfter   // of a step that has succeeded
	status    int
	err       string
	object    observe.Object // as it is after the write
}

func newHeldWrite(req *http.Request) *heldWrite {
	call := DescribeRequest(req)
	return &heldWrite{
		call:        call,
		since:       time.Now(),
		contentType: req.Header.Get("Content-Type"),
		getBody:     req.GetBody,
		object:      call.Object,
		released:    make(chan struct{}),
		done:        make(chan struct{}),
	}
}

// setResult notes what came of the write.
func (h *heldWrite) setResult(resp *http.Response, err error) {
	defer close(h.done)
	if err != nil {
		h.err = err.Error()
		return
	}
	said, body := PeekResponse(resp)
	resp.Body = body
	call := *h.call
	call.Status = resp.StatusCode
	said.AddTo(&call)
	h.status, h.err = resp.StatusCode, call.Error
	if !call.Failed() {
		h.object = call.Object
	}
}

// result is what it was and what came of it.
func (h *heldWrite) result() *control.SteppedWrite {
	s := &control.SteppedWrite{HeldWrite: h.describe(), Status: h.status, Error: h.err}
	if h.object.Name != "" {
		s.Object = h.object
	}
	if h.status > 0 && h.status < http.StatusBadRequest {
		s.Before, s.After, s.UnknownReason = h.change.redactedJSON(s.Object)
	}
	return s
}

// describe describes the write, as far as that is cheap.
func (h *heldWrite) describe() control.HeldWrite {
	d := control.HeldWrite{Verb: h.call.Verb, Object: h.call.Object, Subresource: h.call.Subresource, Since: h.since}
	c := h.decodeBody()
	if d.Object.Name == "" && d.Verb == "create" {
		d.Object.Name = cmp.Or(c.stringField("metadata", "name"), c.stringField("metadata", "generateName"))
	}
	if c.value != nil {
		d.Body, _ = c.redactedJSON(d.Object) // it was JSON a moment ago
	}
	return d
}

// decodeBody is the body of the write; none where it is long or not understood.
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
