package health

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
)

// suspendingField returns the field that suspends or pauses an object, as CronJobs, Deployments and many custom resources
// have one: it may be healthy, but its controller does nothing for it, or only a part, as for a Deployment. It is empty if
// none does.
func suspendingField(u *unstructured.Unstructured) string {
	for _, field := range []string{"suspend", "paused"} {
		if set, _, _ := unstructured.NestedBool(u.Object, "spec", field); set {
			return "spec." + field
		}
	}
	return ""
}

// explainSuspension explains a Job that is suspended.
func (s *reasonSearch) explainSuspension(u *unstructured.Unstructured) string {
	return joinTexts("suspended: spec.suspend is true", s.explainObstacles(u))
}

// explainObstacles says what a Job or a Pod waits for that an operator keeps from starting: one that queues them says so in a
// custom resource that they own.
func (s *reasonSearch) explainObstacles(u *unstructured.Unstructured) string {
	var reasons []string
	defer s.ignoreErrors()()
	resources, err := s.customResources()
	if err != nil {
		s.recordError(err)
	}
	for _, r := range resources {
		for _, owned := range s.listOwned(r, u) {
			for _, c := range obstacles(readConditions(&owned)) {
				reasons = append(reasons, describeCondition(c, fmt.Sprintf(" of %s %s", owned.GetKind(), owned.GetName())))
			}
		}
	}
	return joinTexts(reasons...)
}

// customResources returns the namespaced resources that are not of Kubernetes and can be listed. With an error they may be
// a part.
func (s *reasonSearch) customResources() ([]schema.GroupVersionResource, error) {
	if s.lists.custom != nil {
		return s.lists.custom.resources, s.lists.custom.err
	}
	answer := &customAnswer{}
	served, err := kinds.Preferred(s.ctx, s.kinds)
	if err != nil {
		answer.err = fmt.Errorf("discover kinds: %w", err)
	}
	for _, r := range served {
		if r.Namespaced && kinds.IsCustom(schema.GroupKind{Group: r.Group}) && slices.Contains(r.Verbs, "list") {
			answer.resources = append(answer.resources, schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Name})
		}
	}
	s.lists.custom = answer
	return answer.resources, answer.err
}
