package recording

import (
	"bytes"
	"io"
	"net/http"
	"sync"

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
	return readSent(req, ParseEvent)
}

// readSent returns what a function that does not keep the data reads from the beginning of what a request sends. It
// returns the zero value if the body cannot be read again.
func readSent[T any](req *http.Request, parse func(data []byte) T) (parsed T) {
	if req.GetBody == nil {
		return parsed
	}
	body, err := req.GetBody()
	if err != nil {
		return parsed
	}
	defer body.Close()
	buffer := sentBuffers.Get().(*bytes.Buffer)
	defer sentBuffers.Put(buffer)
	buffer.Reset()
	if _, err = buffer.ReadFrom(io.LimitReader(body, maxEventSize)); err != nil {
		return parsed
	}
	return parse(buffer.Bytes())
}

// sentBuffers are reused: what is recorded has its own strings.
var sentBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

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
	var e struct{ kind, reason, note, regarding []byte }
	eachField(object, func(n protowire.Number, v []byte) {
		switch n {
		case of.kind:
			e.kind = v
		case of.reason:
			e.reason = v
		case of.note:
			e.note = v
		case of.regarding:
			e.regarding = v
		}
	})
	r := parseProtoReference(e.regarding)
	var room [1024]byte
	all := room[:0]
	for _, part := range [][]byte{e.kind, e.reason, e.note, r.kind, r.namespace, r.name, r.uid} {
		all = append(all, part...)
	}
	text := string(all) // one string, because many are kept
	next := func(part []byte) (s string) {
		s, text = text[:len(part)], text[len(part):]
		return s
	}
	return &observe.KubernetesEvent{Type: next(e.kind), Reason: next(e.reason), Note: next(e.note), Regarding: referencedObject(corev1.ObjectReference{
		Kind: next(r.kind), Namespace: next(r.namespace), Name: next(r.name), UID: types.UID(next(r.uid)), APIVersion: string(r.version),
	})}
}

// protoReference has the fields of an ObjectReference.
type protoReference struct{ kind, namespace, name, uid, version []byte }

// parseProtoReference reads an ObjectReference: 1 kind, 2 namespace, 3 name, 4 UID, 5 version.
func parseProtoReference(data []byte) (r protoReference) {
	eachField(data, func(n protowire.Number, v []byte) {
		switch n {
		case 1:
			r.kind = v
		case 2:
			r.namespace = v
		case 3:
			r.name = v
		case 4:
			r.uid = v
		case 5:
			r.version = v
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
