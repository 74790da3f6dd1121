package manifests

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// refusals are the objects that were not applied, and what cannot be applied without them.
type refusals struct {
	errs       []error
	objects    map[*unstructured.Unstructured]bool
	namespaces map[string]bool
	kinds      map[schema.GroupVersionKind]bool
}

func (r *refusals) add(o Object, err error) {
	if r.objects == nil {
		*r = refusals{r.errs, map[*unstructured.Unstructured]bool{}, map[string]bool{}, map[schema.GroupVersionKind]bool{}}
	}
	r.errs = append(r.errs, err)
	r.objects[o.Unstructured] = true
	if o.GroupVersionKind().GroupKind() == namespaceKind {
		r.namespaces[o.GetName()] = true
	}
	for _, gvk := range definedKinds(o.Unstructured) {
		r.kinds[gvk] = true
	}
}

// affects reports whether an object was refused, or needs one that was.
func (r *refusals) affects(o Object) bool {
	return r.objects[o.Unstructured] || r.kinds[o.GroupVersionKind()] || r.namespaces[cmp.Or(o.GetNamespace(), metav1.NamespaceDefault)]
}
