package health

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
)

// conditionSucceeded is, in the conventions of Knative, the one condition that decides of a custom resource that runs to
// completion, as Ready is of one that does not: Unknown as long as it runs, and False once it has failed.
const conditionSucceeded = "Succeeded"

// applySucceededRule sets the state of a custom resource that is current to kstatus, which does not know that condition.
func (s *State) applySucceededRule(u *unstructured.Unstructured) {
	c, found := findCondition(u, conditionSucceeded)
	if !found || s.Status != Current || c.Status == metav1.ConditionTrue || !kinds.IsCustom(u.GroupVersionKind().GroupKind()) || hasPhaseRule(u) {
		return
	}
	if _, lasts := findCondition(u, "Ready"); lasts {
		return
	}
	s.Status, s.Message = InProgress, cmp.Or(joinReason(c.Reason, c.Message), "its "+describeCondition(c, ""))
	if c.Status == metav1.ConditionFalse {
		s.Status, s.Final = Failed, true
	}
}
