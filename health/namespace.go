package health

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// explainNamespaceDeletion says what a Namespace waits for that is being deleted, beside its metadata.finalizers. The namespace
// controller removes its own finalizer from spec.finalizers once it has deleted the content; others wait for other controllers.
func explainNamespaceDeletion(u *unstructured.Unstructured) string {
	left, text := remainingContent(u), ""
	listed, _, _ := unstructured.NestedStringSlice(u.Object, "spec", "finalizers")
	others := slices.DeleteFunc(slices.Clone(listed), func(f string) bool { return f == string(corev1.FinalizerKubernetes) })
	if len(others) > 0 {
		text = "; waiting for " + strings.Join(others, ", ") + " in spec.finalizers"
	}
	switch waits := len(u.GetFinalizers()) + len(others); {
	case waits > 0 && left != "":
		return text + "; " + left
	case left != "":
		return ": " + left
	case len(u.GetFinalizers()) == 0 && (len(others) == 0 || len(listed) > len(others)):
		return text + "; the namespace controller has not reported the remaining content yet"
	}
	return text
}

// namespaceConditions is the prefix of the conditions that the namespace controller sets.
const namespaceConditions = "Namespace"

// remainingContent returns what remains in a Namespace according to its conditions.
func remainingContent(u *unstructured.Unstructured) string {
	var left []string
	for _, c := range readConditions(u) {
		if strings.HasPrefix(c.Type, namespaceConditions) && c.Status == metav1.ConditionTrue {
			left = append(left, c.Message)
		}
	}
	return strings.Join(left, "; ")
}
