package health

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
)

// explainSuspension explains a Job that is suspended. An operator that queues Jobs says why in a custom resource
// that the Job owns.
func (s *reasonSearch) explainSuspension(u *unstructured.Unstructured) string {
	reasons := []string{"suspended: spec.suspend is true"}
	before := s.err
	defer func() { s.err = before }() // what cannot be listed is most likely not that resource
	for _, r := range s.customResources() {
		for _, owned := range s.listOwned(r, u) {
			for _, c := range readConditions(&owned) {
				if c.Status == metav1.ConditionFalse && c.Message != "" {
					reasons = append(reasons, fmt.Sprintf("condition %s of %s %s is False: %s", c.Type, owned.GetKind(), owned.GetName(), joinReason(c.Reason, c.Message)))
				}
			}
		}
	}
	return strings.Join(reasons, "; ")
}

// customResources returns the namespaced resources that are not of Kubernetes and can be listed.
func (s *reasonSearch) customResources() (list []schema.GroupVersionResource) {
	served, err := kinds.Preferred(s.ctx, s.kinds) // which may be a part
	if err != nil {
		s.recordError(fmt.Errorf("discover kinds: %w", err))
	}
	for _, r := range served {
		if r.Namespaced && isCustomKind(schema.GroupKind{Group: r.Group}) && slices.Contains(r.Verbs, "list") {
			list = append(list, schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Name})
		}
	}
	return list
}
