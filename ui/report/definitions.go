package report

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/ctrlplane/ctrlplane/observe"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

var errDefinitionDeleted = errors.New("its CustomResourceDefinition was deleted before it could be examined")

// definitionDeleted replaces the error of a list whose resource is not served any more.
func definitionDeleted(err error) error {
	if apierrors.IsNotFound(err) {
		return errDefinitionDeleted
	}
	return err
}

// definitionsDeletedAfter reports whether a client has deleted CustomResourceDefinitions after a record.
func (d *Deletions) definitionsDeletedAfter(seq uint64) bool {
	page, err := d.src.Records(context.Background(), observe.Query{After: seq, Kinds: []observe.Kind{observe.KindCalled}, Notable: true})
	return err == nil && slices.ContainsFunc(page.Records, func(r observe.Record) bool {
		c, ok := r.Event.(*observe.Called)
		return ok && deletesForClient(c) && c.Object.Resource == definitions.Resource && c.Object.Group == definitions.Group
	})
}

// findUnserved returns an error for each namespaced kind that was defined and is not among the resources.
func findUnserved(ctx context.Context, objects dynamic.Interface, resources []schema.GroupVersionResource) error {
	list, err := objects.Resource(definitions).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var errs []error
	for _, u := range list.Items {
		scope, _, _ := unstructured.NestedString(u.Object, "spec", "scope")
		served := slices.ContainsFunc(resources, func(r schema.GroupVersionResource) bool { return r.GroupResource().String() == u.GetName() })
		if scope == "Namespaced" && u.GetDeletionTimestamp() == nil && !served {
			errs = append(errs, fmt.Errorf("%s: %w", u.GetName(), errDefinitionDeleted))
		}
	}
	return errors.Join(errs...)
}
