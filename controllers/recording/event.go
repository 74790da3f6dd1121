package recording

import (
	"bytes"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ctrlplane/ctrlplane/observe"
)

// maxEventSize is the longest Event or Binding that is read.
const maxEventSize = 64 << 10

// IsNewEvent reports whether a call creates a Kubernetes Event.
func IsNewEvent(c *observe.Called) bool {
	return c.Object.Resource == "events" && c.Verb == "create" && c.Subresource == ""
}

// describeSentEvent returns the content of the Event that a request creates; nil if it
// cannot be read again.
func describeSentEvent(req *http.Request) *observe.KubernetesEvent {
	data, ok := readSent(req)
	if !ok {
		return nil
	}
	return ParseEvent(data)
}

// readSent returns the beginning of what a request sends, if it can be read again.
func readSent(req *http.Request) (data []byte, ok bool) {
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	defer body.Close()
	data, err = io.ReadAll(io.LimitReader(body, maxEventSize))
	return data, err == nil
}

// ParseEvent returns the content of an encoded Event; nil if it is none.
func ParseEvent(data []byte) *observe.KubernetesEvent {
	if !bytes.HasPrefix(data, []byte("k8s\x00")) && !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return nil
	}
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return nil
	}
	switch e := obj.(type) {
	case *corev1.Event:
		return &observe.KubernetesEvent{Type: e.Type, Reason: e.Reason, Note: e.Message, Regarding: referencedObject(e.InvolvedObject)}
	case *eventsv1.Event:
		return &observe.KubernetesEvent{Type: e.Type, Reason: e.Reason, Note: e.Note, Regarding: referencedObject(e.Regarding)}
	}
	return nil
}

func referencedObject(r corev1.ObjectReference) observe.Object {
	o := observe.Object{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, UID: string(r.UID)}
	if gv, err := schema.ParseGroupVersion(r.APIVersion); err == nil {
		plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(r.Kind))
		o.Group, o.Resource = plural.Group, plural.Resource
	}
	return o
}
