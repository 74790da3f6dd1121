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

// maxBody is the longest body that is shown of a held write.
const maxBody = 64 << 10

// hold is a write that waits at a gate, or has waited there.
type hold struct {
	call  *observe.Called // how the write was described
	since time.Time
	media string
	body  func() (io.ReadCloser, error) // a copy of it; nil if there is none

	// The gate's lock guards these.
	place   *list.Element // nil once it is let go
	refused error         // why, before released is closed
	step    bool          // it was let go by a step, before released is closed

	released chan struct{}
	answered chan struct{} // closed when the fields below are set
	given    bool          // up, just when it was let go
	seen     sight         // of a step that has succeeded
	status   int
	err      string
	object   observe.Object // as it is after the write
}

func newHold(req *http.Request) *hold {
	call := describe(req)
	return &hold{
		call:     call,
		since:    time.Now(),
		media:    req.Header.Get("Content-Type"),
		body:     req.GetBody,
		object:   call.Object,
		released: make(chan struct{}),
		answered: make(chan struct{}),
	}
}

// answer notes what came of the write.
func (h *hold) answer(resp *http.Response, err error) {
	defer close(h.answered)
	if err != nil {
		h.err = err.Error()
		return
	}
	said, body := peek(resp)
	resp.Body = body
	call := *h.call
	call.Status = resp.StatusCode
	said.tell(&call)
	h.status, h.err = resp.StatusCode, call.Error
	if !call.Failed() {
		h.object = call.Object
	}
}

// stepped is what it was and what came of it.
func (h *hold) stepped() *control.Stepped {
	s := &control.Stepped{Held: h.held(), Status: h.status, Error: h.err}
	if h.object.Name != "" {
		s.Object = h.object
	}
	if h.status > 0 && h.status < http.StatusBadRequest {
		s.Before, s.After, s.Unseen = h.seen.show(s.Object)
	}
	return s
}

// held describes the write, as far as that is cheap.
func (h *hold) held() control.Held {
	d := control.Held{Verb: h.call.Verb, Object: h.call.Object, Subresource: h.call.Subresource, Since: h.since}
	c := h.content()
	if d.Object.Name == "" && d.Verb == "create" {
		d.Object.Name = cmp.Or(c.text("metadata", "name"), c.text("metadata", "generateName"))
	}
	if c.value != nil {
		d.Body, _ = c.shown(d.Object) // it was JSON a moment ago
	}
	return d
}

// content is the body of the write; none where it is long or not understood.
func (h *hold) content() (c content) {
	if h.body == nil {
		return c
	}
	body, err := h.body()
	if err != nil {
		return c
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, maxBody+1))
	if err != nil || len(data) == 0 || len(data) > maxBody {
		return c
	}
	if c, err = decode(h.media, data); err != nil {
		return content{}
	}
	return c
}
