package health

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
)

// doubtPod says that a Pod is going to be deleted as its node does not exist, or that it cannot be evicted.
func (s *reasonSearch) doubtPod(u *unstructured.Unstructured) string {
	if missing := s.explainMissingNode(u); missing != "" {
		return missing
	}
	return s.doubtSeveralBudgets(u)
}

// explainMissingNode says that a Pod is assigned to a node that does not exist; "" if it is not. The controller also deletes a Pod
// that has finished, but that one needs no node.
func (s *reasonSearch) explainMissingNode(u *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(u.Object, "spec", "nodeName")
	phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
	if name == "" || phase == string(corev1.PodSucceeded) || phase == string(corev1.PodFailed) {
		return ""
	}
	if node := s.getNode(name); node.object != nil || node.err != nil {
		return ""
	}
	text := fmt.Sprintf("its node %s does not exist", name)
	if u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) > 0 {
		return text
	}
	if stopped := s.explainStopped(controllernames.PodGarbageCollector, "delete the Pod"); stopped != "" {
		return text + ", and " + stopped
	}
	return text + ": " + controllernames.PodGarbageCollector + " is going to delete the Pod"
}

// getNode reads a Node, only once for searches that share a cache. It is not an error of the search if that fails.
func (s *reasonSearch) getNode(name string) readAnswer {
	return s.read(neededObject{coreResource("nodes"), "", name})
}
