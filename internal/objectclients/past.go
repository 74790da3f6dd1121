package objectclients

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// At returns a client whose Get and List return the objects as they were at a resource version, which the storage keeps for
// some minutes.
func At(objects dynamic.Interface, version string) dynamic.Interface {
	return pastObjects{objects, version}
}

type pastObjects struct {
	dynamic.Interface
	version string
}

func (p pastObjects) Resource(r schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	all := p.Interface.Resource(r)
	return pastNamespaces{pastResource{all, r.GroupResource(), p.version}, all}
}

type pastNamespaces struct {
	pastResource
	all dynamic.NamespaceableResourceInterface
}

func (p pastNamespaces) Namespace(name string) dynamic.ResourceInterface {
	return pastResource{p.all.Namespace(name), p.resource, p.version}
}

type pastResource struct {
	dynamic.ResourceInterface
	resource schema.GroupResource
	version  string
}

func (p pastResource) List(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if o.Continue == "" { // that has the version
		o.ResourceVersion, o.ResourceVersionMatch = p.version, metav1.ResourceVersionMatchExact
	}
	return p.ResourceInterface.List(ctx, o)
}

// Get lists one object: only a list can be of an earlier version.
func (p pastResource) Get(ctx context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	list, err := p.List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()})
	switch {
	case err != nil:
		return nil, err
	case len(list.Items) == 0:
		return nil, apierrors.NewNotFound(p.resource, name)
	}
	return &list.Items[0], nil
}
