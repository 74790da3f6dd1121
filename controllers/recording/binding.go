package recording

import (
	"bytes"
	"encoding/json"
	"net/http"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ctrlplane/ctrlplane/observe"
)

// IsBinding reports whether a call binds a Pod to a Node.
func IsBinding(c *observe.Called) bool {
	return c.Object.Resource == "pods" && c.Object.Group == "" && c.Verb == "create" && c.Subresource == "binding"
}

// IsNewPod reports whether a call creates a Pod, which may name its Node.
func IsNewPod(c *observe.Called) bool {
	return c.Object.Resource == "pods" && c.Object.Group == "" && c.Verb == "create" && c.Subresource == ""
}

// describeSentBinding returns the Node that a request binds a Pod to; empty if the body cannot
// be read again.
func describeSentBinding(req *http.Request) string {
	return readSent(req, ParseBinding)
}

// ParseBinding returns the Node that an encoded Binding names; empty if there is none.
func ParseBinding(data []byte) (node string) {
	if bytes.HasPrefix(data, protoPrefix) {
		return nestedName(data, 3)
	}
	var b struct{ Target struct{ Name string } }
	_ = json.Unmarshal(data, &b) // text that is not JSON does not name a Node
	return b.Target.Name
}

// ParseNodeName returns the Node that an encoded Pod names; empty if there is none.
func ParseNodeName(data []byte) (node string) {
	if bytes.HasPrefix(data, protoPrefix) {
		return nestedName(data, 10)
	}
	if !bytes.Contains(data, []byte(`"nodeName"`)) { // as in most
		return ""
	}
	var p struct{ Spec struct{ NodeName string } }
	_ = json.Unmarshal(data, &p) // text that is not JSON does not name a Node
	return p.Spec.NodeName
}

// nestedName returns a field of what is the second field of an encoded object: of the target of a Binding, or the spec of a Pod.
func nestedName(data []byte, field protowire.Number) (name string) {
	_, _, object := openEnvelope(data)
	eachField(object, func(n protowire.Number, inner []byte) {
		if n != 2 {
			return
		}
		eachField(inner, func(n protowire.Number, v []byte) {
			if n == field {
				name = string(v)
			}
		})
	})
	return name
}
