package health

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// explainSpec says for which field of its spec an object is not healthy although its Pods are; "" if none is known.
func explainSpec(u *unstructured.Unstructured) string {
	if text := explainOnDelete(u); text != "" {
		return text
	}
	if class, _, _ := unstructured.NestedString(u.Object, "spec", "loadBalancerClass"); class != "" && kindOf(u) == serviceKind {
		return fmt.Sprintf("only a controller of class %s gives it one (spec.loadBalancerClass)", class)
	}
	number := func(fields ...string) int64 {
		n, _, _ := unstructured.NestedInt64(u.Object, fields...)
		return n
	}
	ready := number("status", "readyReplicas") + number("status", "numberReady") // of a DaemonSet
	young := ready - number("status", "availableReplicas") - number("status", "numberAvailable")
	if seconds := number("spec", "minReadySeconds"); seconds > 0 && young > 0 && !kinds.IsCustom(kindOf(u)) {
		return fmt.Sprintf("Ready for less than %d s: %s (spec.minReadySeconds)", seconds, words.Count(young, "Pod"))
	}
	return ""
}

// explainOnDelete says that a DaemonSet does not replace its Pods after a change; "" if it does, or need not.
func explainOnDelete(u *unstructured.Unstructured) string {
	strategy, _, _ := unstructured.NestedString(u.Object, "spec", "updateStrategy", "type")
	desired, _, _ := unstructured.NestedInt64(u.Object, "status", "desiredNumberScheduled")
	updated, _, _ := unstructured.NestedInt64(u.Object, "status", "updatedNumberScheduled")
	if strategy != "OnDelete" || updated >= desired {
		return ""
	}
	return "delete its Pods to update them (spec.updateStrategy is OnDelete)"
}
