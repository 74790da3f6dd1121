package trace

import (
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Find returns the object that records know by a kind, as RESOURCE, KIND or
// RESOURCE.GROUP in any case, a namespace and a name: for kinds that the server
// does not know any more.
func Find(records []observe.Record, kind, namespace, name string) (observe.Object, bool) {
	for i := len(records) - 1; i >= 0; i-- {
		var o observe.Object
		switch e := records[i].Event.(type) {
		case *observe.Called:
			o = *canonical(e.Object)
		case *observe.Delivered:
			o = *canonical(e.Object)
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

// matchesKind says whether an object's kind goes by a name.
func matchesKind(o observe.Object, kind string) bool {
	for _, known := range []string{o.Resource, o.Kind, o.Resource + "." + o.Group, o.Kind + "." + o.Group} {
		if known != "" && strings.EqualFold(known, kind) {
			return true
		}
	}
	return false
}
