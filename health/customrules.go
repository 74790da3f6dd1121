package health

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// customRule judges the objects of a custom kind that are Current to kstatus. It decides alone: other conditions of an object
// make nothing doubtful.
type customRule struct {
	judge    func(*unstructured.Unstructured) (s Status, message string) // without a message if the object is healthy
	recovers bool                                                        // one that has failed may become healthy without a change
}

// customRules has the custom kinds with conventions that kstatus does not know.
var customRules = map[schema.GroupKind]customRule{
	{Group: "argoproj.io", Kind: "Rollout"}:     {judge: byPhase("Healthy", "Degraded"), recovers: true},
	{Group: "argoproj.io", Kind: "AnalysisRun"}: {judge: byPhase("Successful", "Failed", "Error", "Inconclusive")},
	{Group: "argoproj.io", Kind: "Experiment"}:  {judge: byPhase("Successful", "Failed", "Error", "Inconclusive")},
	{Group: "argoproj.io", Kind: "Workflow"}:    {judge: byPhase("Succeeded", "Failed", "Error")},
	{Group: "tekton.dev", Kind: "TaskRun"}:      {judge: bySucceeded},
	{Group: "tekton.dev", Kind: "PipelineRun"}:  {judge: bySucceeded},
	{Group: "tekton.dev", Kind: "CustomRun"}:    {judge: bySucceeded},
	{Group: "shipwright.io", Kind: "BuildRun"}:  {judge: bySucceeded},
	{Group: "kpack.io", Kind: "Build"}:          {judge: bySucceeded},
}

func hasCustomRule(u *unstructured.Unstructured) bool {
	return customRules[kindOf(u)].judge != nil
}

// applyCustomRule sets the state of an object that is Current to kstatus by the rule for its kind, if it has one.
func (s *State) applyCustomRule(u *unstructured.Unstructured) {
	if s.Status != Current || !hasCustomRule(u) {
		return
	}
	rule := customRules[kindOf(u)]
	if found, message := rule.judge(u); found != Current {
		s.Status, s.Message, s.Final = found, message, found == Failed && !rule.recovers
	}
}

// byPhase is for kinds whose status.phase decides, as for the tools of Argo: their conditions may all look well. Objects with
// another phase than these, and those without one, are in progress.
func byPhase(healthy string, failed ...string) func(*unstructured.Unstructured) (Status, string) {
	return func(u *unstructured.Unstructured) (Status, string) {
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		message, _, _ := unstructured.NestedString(u.Object, "status", "message")
		switch {
		case phase == healthy:
			return Current, ""
		case phase == "":
			return InProgress, "it has no status.phase yet"
		case slices.Contains(failed, phase):
			return Failed, joinReason(phase, message)
		}
		return InProgress, joinReason(phase, message)
	}
}

// bySucceeded is for kinds that run to completion and follow the conventions of Knative for that: the condition Succeeded is
// Unknown as long as an object runs, and False once it has failed for good. Of other kinds False may be said of what runs.
func bySucceeded(u *unstructured.Unstructured) (Status, string) {
	c, found := findCondition(u, "Succeeded")
	message := cmp.Or(joinReason(c.Reason, c.Message), "its "+describeCondition(c, ""))
	switch {
	case !found:
		return InProgress, "it has no condition Succeeded yet"
	case c.Status == metav1.ConditionTrue:
		return Current, ""
	case c.Status == metav1.ConditionFalse:
		return Failed, message
	}
	return InProgress, message
}
