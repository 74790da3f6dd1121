package health

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// phaseRule has the values of status.phase of objects that are healthy and of those that have failed. Those with another
// phase, and those without one, are in progress.
type phaseRule struct {
	healthy string
	failed  []string
}

var rolloutKind = schema.GroupKind{Group: "argoproj.io", Kind: "Rollout"}

// phaseRules has the kinds whose status.phase decides, as for the tools of Argo: their conditions may all look well.
var (
	analysisPhases = phaseRule{"Successful", []string{"Failed", "Error", "Inconclusive"}}
	phaseRules     = map[schema.GroupKind]phaseRule{
		rolloutKind: {"Healthy", []string{"Degraded"}},
		{Group: "argoproj.io", Kind: "AnalysisRun"}: analysisPhases,
		{Group: "argoproj.io", Kind: "Experiment"}:  analysisPhases,
		{Group: "argoproj.io", Kind: "Workflow"}:    {"Succeeded", []string{"Failed", "Error"}},
	}
)

func hasPhaseRule(u *unstructured.Unstructured) bool {
	_, ok := phaseRules[u.GroupVersionKind().GroupKind()]
	return ok
}

// applyPhaseRule sets the state of an object that is current to kstatus by its phase, if its kind has a rule.
func (s *State) applyPhaseRule(u *unstructured.Unstructured) {
	rule, ok := phaseRules[u.GroupVersionKind().GroupKind()]
	phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
	if !ok || s.Status != Current || phase == rule.healthy {
		return
	}
	s.Status, s.Message = InProgress, "it has no status.phase yet"
	if phase != "" {
		message, _, _ := unstructured.NestedString(u.Object, "status", "message")
		s.Message = joinReason(phase, message)
	}
	if slices.Contains(rule.failed, phase) {
		s.Status, s.Final = Failed, u.GroupVersionKind().GroupKind() != rolloutKind // which may recover
	}
}
