package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// addSuspension says of a custom resource that is not healthy which field suspends it: it may stay so until that is changed.
func (s *State) addSuspension(u *unstructured.Unstructured) {
	field := suspendingField(u)
	if field == "" || !kinds.IsCustom(kindOf(u)) || s.Status != InProgress && s.Status != Failed {
		return
	}
	text := "suspended: "
	if field == "spec.paused" {
		text = "paused: "
	}
	s.Message = joinTexts(text+field+" is true", s.Message)
}

// explainSuspension explains a Job that is suspended.
func (s *reasonSearch) explainSuspension(u *unstructured.Unstructured) string {
	return joinTexts("suspended: spec.suspend is true", s.explainObstacles(u))
}
