package health

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// explainUnserved says why the server does not serve a kind.
func (s *reasonSearch) explainUnserved(r Ref) string {
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	for _, crd := range s.list(crds, "", metav1.ListOptions{}) {
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		if group != r.Group || kind != r.Kind {
			continue
		}
		if state := StateOf(&crd); state.Status != Current {
			return fmt.Sprintf("CustomResourceDefinition %s: %s", crd.GetName(), s.explainObject(&crd))
		}
		return fmt.Sprintf("CustomResourceDefinition %s does not serve version %s", crd.GetName(), r.Version)
	}
	if s.err != nil {
		return ""
	}
	return fmt.Sprintf("unknown kind %s in %s: correct the name or install its CustomResourceDefinition", r.Kind, r.GroupVersion())
}
