package health

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
)

// maxApplied is how many objects of inventories are read, one by one, for all searches that share a cache.
const maxApplied = 100

// listUnhealthyApplied reads the objects that a custom resource has in its inventory, as those of Flux do, and returns those
// that are not healthy. They may be in other namespaces, and have no owner references.
func (s *reasonSearch) listUnhealthyApplied(u *unstructured.Unstructured) (bad []*unstructured.Unstructured) {
	defer s.ignoreErrors()()
	entries, _, _ := unstructured.NestedSlice(u.Object, "status", "inventory", "entries")
	for _, e := range entries {
		r, ok := readInventoryEntry(e)
		if !ok || !mayBeUnhealthy(r.GroupKind()) {
			continue
		}
		if applied := s.readApplied(r); applied != nil && s.isUnhealthyBelow(applied) {
			bad = append(bad, applied)
		}
	}
	return bad
}

// readApplied reads an object of an inventory, once; nil if it does not exist, or if too many were read.
func (s *reasonSearch) readApplied(r Ref) *unstructured.Unstructured {
	applied, known := s.cache.applied[r]
	if known || len(s.cache.applied) >= maxApplied {
		return applied
	}
	if found := s.findKind(r.GroupVersionKind); found.err == nil {
		applied = s.get(found.GroupVersionResource, r.Namespace, r.Name)
	}
	s.cache.applied[r] = applied
	return applied
}

// readInventoryEntry reads an entry of an inventory: {id: NAMESPACE_NAME_GROUP_KIND, v: VERSION}, without a namespace or a
// group if there is none.
func readInventoryEntry(entry any) (r Ref, ok bool) {
	fields, _ := entry.(map[string]any)
	id, _ := fields["id"].(string)
	version, _ := fields["v"].(string)
	parts := strings.Split(id, "_")
	if len(parts) != 4 || version == "" { // a name with colons, as of a role, has more parts
		return Ref{}, false
	}
	return Ref{schema.GroupVersionKind{Group: parts[2], Version: version, Kind: parts[3]}, parts[0], parts[1]}, true
}

// mayBeUnhealthy reports whether objects of a kind may be not healthy. Most kinds of Kubernetes have no state.
func mayBeUnhealthy(kind schema.GroupKind) bool {
	return kinds.IsCustom(kind) || kind == crdKind || stricterRules[kind] != nil || slices.ContainsFunc(workloads, func(r schema.GroupVersionResource) bool {
		return r.Group == kind.Group && r.Resource == strings.ToLower(kind.Kind)+"s"
	})
}
