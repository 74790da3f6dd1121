package trace

import (
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Find returns the object with a kind, namespace and name from the records. It serves
// kinds that the server no longer knows. kind is RESOURCE, KIND or RESOURCE.GROUP in
// any case.
func Find(records []observe.Record, kind, namespace, name string) (observe.Object, bool) {
	for i := len(records) - 1; i >= 0; i-- {
		var o observe.Object
		switch e := records[i].Event.(type) {
		case *observe.Called:
			o = *canonicalObject(e.Object)
		case *observe.Delivered:
			o = *canonicalObject(e.Object)
		default:
			continue
		}
		if o.Name == name && (o.Namespace == "" || o.Namespace == namespace) && matchesKind(o, kind) {
			o.UID = ""
			return o, true
		}
	}
	return observe.Object{}, false
}

// matchesKind reports whether kind is a name of the object's kind.
func matchesKind(o observe.Object, kind string) bool {
	for _, known := range []string{o.Resource, o.Kind, o.Resource + "." + o.Group, o.Kind + "." + o.Group} {
		if known != "" && strings.EqualFold(known, kind) {
			return true
		}
	}
	return false
}
