package intervene

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"reflect"
	"strings"

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
	sent, err := decodeContent(contentType, data)
	if err != nil {
		return false
	}
	if call.Verb == "patch" {
		return !strings.HasPrefix(contentType, "application/apply-patch+") && patchesLeaderOnly(sent)
	}
	if sent.stringField("metadata", "resourceVersion") == "" { // it replaces what may be written between the read and the update
		return false
	}
	is := g.objects.readBefore(readerRequest(req), call)
	return is.unknown == nil && is.before.value != nil && sent.stringField(leaderAnnotation...) != "" &&
		reflect.DeepEqual(withoutLeader(sent.value), withoutLeader(is.before.value))
}

var leaderAnnotation = []string{"metadata", "annotations", requestkind.LeaderAnnotation}

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
				if !isLeader {
					return false
				}
			default:
				return false
			}
		}
		return len(operations) > 0
	}
	return hasOnly(patch.value, "metadata") && hasOnly(patch.field("metadata"), "annotations", "resourceVersion") &&
		hasOnly(patch.field("metadata", "annotations"), requestkind.LeaderAnnotation)
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

// notUpdated are the fields of the metadata that an update does not set.
var notUpdated = []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink"}

// withoutLeader returns an object without the annotation of a leader election, and without what an update does not set. It changes
// the object.
func withoutLeader(object any) any {
	m, _ := object.(map[string]any)
	delete(m, "kind")
	delete(m, "apiVersion")
	meta, _ := m["metadata"].(map[string]any)
	for _, name := range notUpdated {
		delete(meta, name)
	}
	annotations, _ := meta["annotations"].(map[string]any)
	delete(annotations, requestkind.LeaderAnnotation)
	return withoutEmpty(object)
}

// withoutEmpty returns a value without the fields that are null, {} or []: libraries send them, or leave them out.
func withoutEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if v[name] = withoutEmpty(value); v[name] == nil {
				delete(v, name)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
	}
	return v
}
