package health

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// explainBackends says why a Service has no Pod that requests could go to; "" if it has one,
// or does not select any.
func (s *reasonSearch) explainBackends(u *unstructured.Unstructured) string {
	var svc corev1.Service
	if convertObject(u, &svc) != nil || len(svc.Spec.Selector) == 0 || svc.Spec.Type == corev1.ServiceTypeExternalName {
		return ""
	}
	selector := labels.SelectorFromSet(svc.Spec.Selector).String()
	pods := s.list(coreResource("pods"), svc.Namespace, metav1.ListOptions{LabelSelector: selector})
	switch {
	case s.err != nil, slices.ContainsFunc(pods, func(p unstructured.Unstructured) bool { return isBackend(&p, &svc) }):
		return ""
	case len(pods) == 0:
		return fmt.Sprintf("its selector %s matches no Pod", selector)
	}
	reason := fmt.Sprintf("its selector %s matches %s, none of which is ready", selector, words.Count(len(pods), "Pod"))
	if worst := s.explainWorstPod(pods); worst != "" {
		reason += ": " + worst
	}
	return reason
}

// isBackend reports whether requests to a Service may go to a Pod that it selects.
func isBackend(u *unstructured.Unstructured, svc *corev1.Service) bool {
	var pod corev1.Pod
	if convertObject(u, &pod) != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	return svc.Spec.PublishNotReadyAddresses || slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
