package health

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

func coreResource(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: resource}
}

// get returns an object, nil if it does not exist.
func (s *reasonSearch) get(r schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	u, err := s.resourceClient(r, namespace).Get(s.ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		s.recordError(fmt.Errorf("get %s %s: %w", r.Resource, name, err))
		return nil
	}
	return u
}

// list returns objects. If that fails, it records the error and returns none.
func (s *reasonSearch) list(r schema.GroupVersionResource, namespace string, o metav1.ListOptions) []unstructured.Unstructured {
	list, err := s.resourceClient(r, namespace).List(s.ctx, o)
	if err != nil {
		s.recordError(fmt.Errorf("list %s: %w", r.Resource, err))
		return nil
	}
	return list.Items
}

func (s *reasonSearch) resourceClient(r schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return s.objects.Resource(r)
	}
	return s.objects.Resource(r).Namespace(namespace)
}

// listOwned lists the objects that an owner controls.
func (s *reasonSearch) listOwned(r schema.GroupVersionResource, owner *unstructured.Unstructured) []unstructured.Unstructured {
	var mine []unstructured.Unstructured
	for _, u := range s.list(r, owner.GetNamespace(), metav1.ListOptions{}) {
		if ref := metav1.GetControllerOf(&u); ref != nil && ref.UID == owner.GetUID() {
			mine = append(mine, u)
		}
	}
	return mine
}

// convertObject converts an object to its Go type.
func convertObject(u *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into)
}
