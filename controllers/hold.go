package controllers

import (
	"container/list"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

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

	released chan struct{}
	answered chan struct{} // closed when the fields below are set
	given    bool          // up, just when it was let go
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
	return s
}

// held describes the write, as far as that is cheap.
func (h *hold) held() control.Held {
	d := control.Held{Verb: h.call.Verb, Object: h.call.Object, Subresource: h.call.Subresource, Since: h.since}
	var meta metav1.Object
	d.Body, meta = h.decode()
	if d.Object.Name == "" && meta != nil {
		d.Object.Name = meta.GetName()
		if d.Object.Name == "" {
			d.Object.Name = meta.GetGenerateName()
		}
	}
	return d
}

// decode returns the body as JSON, and what it says of an object's identity.
// Both are nil where the body is long or not understood.
func (h *hold) decode() (json.RawMessage, metav1.Object) {
	if h.body == nil {
		return nil, nil
	}
	body, err := h.body()
	if err != nil {
		return nil, nil
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, maxBody+1))
	if err != nil || len(data) == 0 || len(data) > maxBody {
		return nil, nil
	}
	switch media, _, _ := mime.ParseMediaType(h.media); media {
	case "application/apply-patch+yaml":
		data, err = yaml.YAMLToJSON(data)
		return data, nil
	case "application/json", "application/vnd.kubernetes.protobuf":
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
		if err != nil {
			break
		}
		meta, _ := obj.(metav1.Object)
		text, err := json.Marshal(obj)
		if err != nil {
			return nil, meta
		}
		return text, meta
	}
	if !json.Valid(data) {
		return nil, nil
	}
	return data, nil
}
