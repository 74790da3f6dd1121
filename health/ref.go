package health

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ref identifies an object. For a namespaced kind, an empty namespace means "default".
// For other kinds the namespace is empty.
type Ref struct {
	schema.GroupVersionKind
	Namespace, Name string
}

// RefOf returns the identity of an object.
func RefOf(u *unstructured.Unstructured) Ref {
	return Ref{u.GroupVersionKind(), u.GetNamespace(), u.GetName()}
}

// String returns kind, namespace and name: "Deployment shop/web".
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name)
}
