package metricsapi

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/metrics/pkg/apis/metrics"
)

// newNotFound returns the error for an object that exists but has no metrics.
func newNotFound(resource, name string, why error) error {
	err := apierrors.NewNotFound(metrics.Resource(resource), name)
	err.ErrStatus.Message += ": " + why.Error()
	return err
}

// selector selects the objects of a list.
type selector struct {
	labels labels.Selector
	fields fields.Selector
}

func newSelector(options *metainternalversion.ListOptions) selector {
	s := selector{labels.Everything(), fields.Everything()}
	if options != nil && options.LabelSelector != nil {
		s.labels = options.LabelSelector
	}
	if options != nil && options.FieldSelector != nil {
		s.fields = options.FieldSelector
	}
	return s
}

// matches checks the field selector; the lister checks labels. The API server has
// rejected other fields.
func (s selector) matches(obj metav1.Object) bool {
	return s.fields.Matches(fields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()})
}
