package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// doubtService says why a Service has no Pod that requests could go to, or none for one of its ports; "" if it has.
func (s *reasonSearch) doubtService(_ *unstructured.Unstructured, svc *corev1.Service) string {
	switch {
	case svc.Spec.Type == corev1.ServiceTypeExternalName:
		return ""
	case len(svc.Spec.Selector) == 0:
		return s.doubtManualEndpoints(svc)
	}
	const noEndpoint = "it has no ready endpoint: its selector %s matches "
	const intended = "it has no endpoint: its selector %s matches " // nothing fails
	selector := labels.SelectorFromSet(svc.Spec.Selector).String()
	selected := s.list(coreResource("pods"), svc.Namespace, metav1.ListOptions{LabelSelector: selector})
	pods := s.listBackends(selected, svc)
	switch {
	case len(pods) > 0:
		return doubtTargetPorts(svc, pods)
	case s.err != nil:
		return ""
	case len(selected) == 0:
		if scaled := s.findScaledDown(svc); scaled != nil {
			return fmt.Sprintf(intended+"only Pods of %s %s, which is scaled to 0 (spec.replicas)", selector, scaled.GetKind(), scaled.GetName())
		}
		return fmt.Sprintf(noEndpoint+"no Pod", selector)
	case !slices.ContainsFunc(selected, func(p unstructured.Unstructured) bool { return !isCompletedPod(&p) }):
		return fmt.Sprintf(intended+"only completed Pods: %s", selector, nameCompleted(selected))
	}
	if s.options.skipPods && slices.ContainsFunc(selected, func(p unstructured.Unstructured) bool { return StateOf(&p).Status != Current }) {
		return ""
	}
	reason := fmt.Sprintf(noEndpoint+"%s, none of which is ready", selector, words.Count(len(selected), "Pod"))
	if worst := s.explainWorstPod(selected); worst != "" {
		reason += ": " + worst
	}
	return reason
}

// scalable are the workloads that users scale to 0.
var scalable = []schema.GroupVersionResource{
	appsv1.SchemeGroupVersion.WithResource("deployments"),
	appsv1.SchemeGroupVersion.WithResource("statefulsets"),
	appsv1.SchemeGroupVersion.WithResource("replicasets"),
	coreResource("replicationcontrollers"),
}

// findScaledDown returns a workload whose Pods a Service would select, and that is to have none; nil if there is none, if another
// one is to have Pods, as with blue and green Deployments, or if that cannot be read.
func (s *reasonSearch) findScaledDown(svc *corev1.Service) (down *unstructured.Unstructured) {
	defer s.ignoreErrors()()
	selector := labels.SelectorFromSet(svc.Spec.Selector)
	for _, r := range scalable {
		found := s.list(r, svc.Namespace, metav1.ListOptions{Limit: maxListed})
		for i := range found {
			template, _, _ := unstructured.NestedStringMap(found[i].Object, "spec", "template", "metadata", "labels")
			replicas, given, err := unstructured.NestedInt64(found[i].Object, "spec", "replicas")
			switch {
			case metav1.GetControllerOf(&found[i]) != nil || !selector.Matches(labels.Set(template)):
			case err != nil || !given || replicas > 0:
				return nil
			default:
				down = cmp.Or(down, &found[i])
			}
		}
	}
	return down
}

func isCompletedPod(u *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
	return phase == string(corev1.PodSucceeded)
}

// nameCompleted counts completed Pods, and names what controls all of them.
func nameCompleted(pods []unstructured.Unstructured) string {
	text := words.Count(len(pods), "Pod")
	if owner := metav1.GetControllerOf(&pods[0]); owner != nil && !slices.ContainsFunc(pods, func(p unstructured.Unstructured) bool { return controllerUID(&p) != owner.UID }) {
		text += fmt.Sprintf(" of %s %s", owner.Kind, owner.Name)
	}
	return text
}

// doubtTargetPorts names the ports of a Service that lead to none of its Pods, as none has a port of that name; "" if
// there are none. Containers need not declare the numbers of their ports.
func doubtTargetPorts(svc *corev1.Service, pods []*corev1.Pod) string {
	var texts []string
	for _, p := range svc.Spec.Ports {
		protocol := cmp.Or(p.Protocol, corev1.ProtocolTCP)
		if p.TargetPort.Type != intstr.String {
			continue
		}
		var named []string
		for _, pod := range pods {
			named = append(named, namedPorts(pod, protocol)...)
		}
		if slices.Contains(named, p.TargetPort.StrVal) {
			continue
		}
		slices.Sort(named)
		have := "they name none"
		if named = slices.Compact(named); len(named) > 0 {
			have = "they have " + strings.Join(named, ", ")
		}
		texts = append(texts, fmt.Sprintf("it has no endpoint for port %d: its targetPort %s names no %s port of the Pods that it selects: %s", p.Port, p.TargetPort.StrVal, protocol, have))
	}
	return joinTexts(texts...)
}

// namedPorts returns the names of the ports that a Service may name as its targetPort, as upstream's FindPort does.
func namedPorts(pod *corev1.Pod, protocol corev1.Protocol) (names []string) {
	containers := slices.Clone(pod.Spec.Containers)
	for _, c := range pod.Spec.InitContainers {
		if isSidecar(pod, c.Name) {
			containers = append(containers, c)
		}
	}
	for _, c := range containers {
		for _, p := range c.Ports {
			if p.Name != "" && cmp.Or(p.Protocol, corev1.ProtocolTCP) == protocol {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

// listBackends returns the Pods that requests to a Service may go to, of those that it selects.
func (s *reasonSearch) listBackends(selected []unstructured.Unstructured, svc *corev1.Service) (pods []*corev1.Pod) {
	for i := range selected {
		pod := &corev1.Pod{}
		if err := convertObject(&selected[i], pod); err != nil {
			s.recordError(fmt.Errorf("Pod %s: %w", selected[i].GetName(), err))
		} else if isEndpoint(pod, svc.Spec.PublishNotReadyAddresses) {
			pods = append(pods, pod)
		}
	}
	return pods
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
