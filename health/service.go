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
// or does not select any. It fails if that is not known.
func (s *reasonSearch) explainBackends(u *unstructured.Unstructured) (string, error) {
	var svc corev1.Service
	if err := convertObject(u, &svc); err != nil {
		return "", err
	}
	if len(svc.Spec.Selector) == 0 || svc.Spec.Type == corev1.ServiceTypeExternalName {
		return "", nil
	}
	selector := labels.SelectorFromSet(svc.Spec.Selector).String()
	pods := s.list(coreResource("pods"), svc.Namespace, metav1.ListOptions{LabelSelector: selector})
	switch {
	case slices.ContainsFunc(pods, func(p unstructured.Unstructured) bool { return s.isBackend(&p, &svc) }):
		return "", nil
	case s.err != nil:
		return "", s.err
	case len(pods) == 0:
		return fmt.Sprintf("its selector %s matches no Pod", selector), nil
	}
	reason := fmt.Sprintf("its selector %s matches %s, none of which is ready", selector, words.Count(len(pods), "Pod"))
	if worst := s.explainWorstPod(pods); worst != "" {
		reason += ": " + worst
	}
	return words.OneLine(reason) + s.errorSuffix(), nil
}

// isBackend reports whether requests to a Service may go to a Pod that it selects.
func (s *reasonSearch) isBackend(u *unstructured.Unstructured, svc *corev1.Service) bool {
	var pod corev1.Pod
	if err := convertObject(u, &pod); err != nil {
		s.recordError(fmt.Errorf("Pod %s: %w", u.GetName(), err))
		return false
	}
	return isEndpoint(&pod, svc.Spec.PublishNotReadyAddresses)
}

// isEndpoint reports whether a Pod is a ready endpoint of a Service, as upstream's endpointslice
// controller decides: its package would bring informers into every test that uses this one, and
// that of kubectl a module that every user of ctrlplanetest would have to require.
func isEndpoint(pod *corev1.Pod, publishNotReady bool) bool {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if ended || pod.Status.PodIP == "" && len(pod.Status.PodIPs) == 0 {
		return false
	}
	return publishNotReady || pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
