package health

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ref names an object. In a namespaced kind no namespace means "default"; in
// others the namespace is left out.
type Ref struct {
	schema.GroupVersionKind
	Namespace, Name string
}

// RefOf names an object that there is.
func RefOf(u *unstructured.Unstructured) Ref {
	return Ref{u.GroupVersionKind(), u.GetNamespace(), u.GetName()}
}

// String names the object: "Deployment shop/web".
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name)
}
