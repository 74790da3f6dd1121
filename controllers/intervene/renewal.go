package intervene

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/internal/requestkind"
	"github.com/ctrlplane/ctrlplane/observe"
)

// renewsLock reports whether a write changes nothing of a ConfigMap or of Endpoints but the annotation of a leader election: like the
// renewal of a Lease it must not be held. The body was read by prepareWait. Of an update, the object that exists is read, too; it is
// compared even if the version that was sent is another one, which only the API server can refuse.
func (g *Gate) renewsLock(req *http.Request) bool {
	call := recording.DescribeRequest(req)
	if req.GetBody == nil || !mayRenewLock(call) {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	data, err := io.ReadAll(body)
	if err != nil || !bytes.Contains(data, []byte("control-plane.alpha.kubernetes.io")) { // what follows may be escaped
		return false
	}
	contentType := req.Header.Get("Content-Type")
	if call.Verb == "patch" {
		sent, err := decodeContent(contentType, data)
		return err == nil && !strings.HasPrefix(contentType, "application/apply-patch+") && patchesLeaderOnly(sent)
	}
	return g.updatesLeaderOnly(readerRequest(req), call, data)
}

// strictDecoder reads an object as the API server does, and refuses what the API server would read otherwise than it looks, such as
// a field that is there twice.
var strictDecoder = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// updatesLeaderOnly reports whether an update leaves all of the stored object as it is but the annotation of a leader election. Both
// are compared as the API server reads them.
func (g *Gate) updatesLeaderOnly(read *http.Request, call *observe.Called, data []byte) bool {
	kind := corev1.SchemeGroupVersion.WithKind(call.Object.Kind)
	sent, _, err := strictDecoder.Decode(data, &kind, nil)
	if err != nil {
		return false
	}
	found := g.objects.readBefore(read, call)
	stored, isObject := found.before.value.(map[string]any)
	if found.unknown != nil || !isObject {
		return false
	}
	before, err := scheme.Scheme.New(kind)
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(stored, before) != nil {
		return false
	}
	is, becomes, err := metaOf(before, sent)
	if err != nil || becomes.GetAnnotations()[requestkind.LeaderAnnotation] == "" {
		return false
	}
	if v := becomes.GetResourceVersion(); v == "" || v == "0" { // it replaces what may be written between the read and the update
		return false
	}
	for _, o := range []metav1.Object{is, becomes} {
		annotations := maps.Clone(o.GetAnnotations())
		delete(annotations, requestkind.LeaderAnnotation)
		o.SetAnnotations(annotations)
		// An update does not set these.
		o.SetCreationTimestamp(metav1.Time{})
		o.SetGeneration(0)
		o.SetManagedFields(nil)
		o.SetResourceVersion("")
		o.SetSelfLink("")
	}
	before.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	sent.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return apiequality.Semantic.DeepEqual(before, sent)
}

func metaOf(before, sent runtime.Object) (is, becomes metav1.Object, err error) {
	if is, err = meta.Accessor(before); err != nil {
		return nil, nil, err
	}
	becomes, err = meta.Accessor(sent)
	return is, becomes, err
}

// mayRenewLock reports whether a call may be a renewal as far as its path and its verb say.
func mayRenewLock(c *observe.Called) bool {
	return requestkind.MayBeLock(c.Object.Group, c.Object.Resource, c.Subresource) && (c.Verb == "update" || c.Verb == "patch")
}

// patchesLeaderOnly reports whether a JSON patch or a merge patch changes at most the annotation of a leader election. A server-side
// apply also removes what it does not have.
func patchesLeaderOnly(patch objectContent) bool {
	if operations, ok := patch.value.([]any); ok {
		for _, o := range operations {
			operation, _ := o.(map[string]any)
			isLeader := operation["path"] == "/metadata/annotations/"+strings.ReplaceAll(requestkind.LeaderAnnotation, "/", "~1")
			switch operation["op"] {
			case "test":
			case "add", "replace":
				if _, isText := operation["value"].(string); !isLeader || !isText {
					return false
				}
			default:
				return false
			}
		}
		return len(operations) > 0
	}
	return hasOnly(patch.value, "metadata") && hasOnly(patch.field("metadata"), "annotations", "resourceVersion") &&
		hasOnly(patch.field("metadata", "annotations"), requestkind.LeaderAnnotation) &&
		patch.stringField("metadata", "annotations", requestkind.LeaderAnnotation) != ""
}

// hasOnly reports whether a value is an object with some fields, and none but these.
func hasOnly(v any, names ...string) bool {
	m, _ := v.(map[string]any)
	m = maps.Clone(m)
	n := len(m)
	for _, name := range names {
		delete(m, name)
	}
	return n > 0 && len(m) == 0
}
