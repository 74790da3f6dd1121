package recording

import (
	"bytes"
	"io"
	"net/http"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ctrlplane/ctrlplane/observe"
)

// maxEventSize is the longest Event or Binding that is read.
const maxEventSize = 64 << 10

// IsNewEvent reports whether a call creates a Kubernetes Event.
func IsNewEvent(c *observe.Called) bool {
	return c.Object.IsEvent() && c.Verb == "create" && c.Subresource == ""
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
	if n := req.ContentLength; n > 0 {
		data = make([]byte, min(n, maxEventSize))
		_, err = io.ReadFull(body, data)
		return data, err == nil
	}
	data, err = io.ReadAll(io.LimitReader(body, maxEventSize))
	return data, err == nil
}

// ParseEvent returns the content of an encoded Event; nil if it is none.
func ParseEvent(data []byte) *observe.KubernetesEvent {
	if bytes.HasPrefix(data, protoPrefix) {
		return parseProtoContent(data)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
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

// eventFields are the numbers of the fields of an Event in protobuf.
type eventFields struct{ regarding, reason, note, kind protowire.Number }

var eventFieldsOf = map[string]eventFields{
	corev1.SchemeGroupVersion.String():   {regarding: 2, reason: 3, note: 4, kind: 9},
	eventsv1.SchemeGroupVersion.String(): {regarding: 8, reason: 7, note: 10, kind: 11},
}

// parseProtoContent reads, of an Event, only what is recorded: controllers create many of them.
func parseProtoContent(data []byte) *observe.KubernetesEvent {
	version, kind, object := openEnvelope(data)
	of, ok := eventFieldsOf[string(version)]
	if !ok || string(kind) != "Event" {
		return nil
	}
	e := &observe.KubernetesEvent{}
	eachField(object, func(n protowire.Number, v []byte) {
		switch n {
		case of.kind:
			e.Type = string(v)
		case of.reason:
			e.Reason = string(v)
		case of.note:
			e.Note = string(v)
		case of.regarding:
			e.Regarding = referencedObject(parseProtoReference(v))
		}
	})
	return e
}

// parseProtoReference reads an ObjectReference: 1 kind, 2 namespace, 3 name, 4 UID, 5 version.
func parseProtoReference(data []byte) (r corev1.ObjectReference) {
	eachField(data, func(n protowire.Number, v []byte) {
		switch n {
		case 1:
			r.Kind = string(v)
		case 2:
			r.Namespace = string(v)
		case 3:
			r.Name = string(v)
		case 4:
			r.UID = types.UID(v)
		case 5:
			r.APIVersion = string(v)
		}
	})
	return r
}

func referencedObject(r corev1.ObjectReference) observe.Object {
	o := observe.Object{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, UID: string(r.UID)}
	if gv, err := schema.ParseGroupVersion(r.APIVersion); err == nil {
		gvk := gv.WithKind(r.Kind)
		plural, ok := builtInResources()[gvk]
		if !ok {
			plural, _ = meta.UnsafeGuessKindToResource(gvk)
		}
		o.Group, o.Resource = plural.Group, plural.Resource
	}
	return o
}
