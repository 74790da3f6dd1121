package health

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// completingKinds are kinds that run to completion and follow the conventions of Knative for that: the condition Succeeded is
// Unknown as long as an object runs, and False once it has failed for good. Of other kinds False may be said of what runs.
var completingKinds = map[schema.GroupKind]bool{
	{Group: "tekton.dev", Kind: "TaskRun"}:     true,
	{Group: "tekton.dev", Kind: "PipelineRun"}: true,
	{Group: "tekton.dev", Kind: "CustomRun"}:   true,
	{Group: "shipwright.io", Kind: "BuildRun"}: true,
	{Group: "kpack.io", Kind: "Build"}:         true,
}

func runsToCompletion(u *unstructured.Unstructured) bool {
	return completingKinds[u.GroupVersionKind().GroupKind()]
}

// applySucceededRule sets the state of an object that runs to completion and is current to kstatus, which does not know the
// condition Succeeded.
func (s *State) applySucceededRule(u *unstructured.Unstructured) {
	c, found := findCondition(u, "Succeeded")
	if s.Status != Current || c.Status == metav1.ConditionTrue || !runsToCompletion(u) {
		return
	}
	s.Status, s.Message = InProgress, "it has no condition Succeeded yet"
	if found {
		s.Message = cmp.Or(joinReason(c.Reason, c.Message), "its "+describeCondition(c, ""))
	}
	if c.Status == metav1.ConditionFalse {
		s.Status, s.Final = Failed, true
	}
}
