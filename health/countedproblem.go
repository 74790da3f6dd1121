package health

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/observe"
)

// maxStart is how long the start of a Pod on its node may take before it counts as one that cannot start: that a volume cannot be
// mounted is in no field of the Pod.
const maxStart = 5 * time.Second

// maxUnready is how long a Node may be not Ready before it counts: its kubelet may be starting, and one whose machine was
// terminated is deleted within 5 s, as often as cloud-node-lifecycle-controller looks.
const maxUnready = 10 * time.Second

// ProblemOf returns the problem that keeps a Pod, a Job or a Node from doing its work until something changes, by the rules of
// Examine; "" if it has none. An object without one may have it at due if it does not change until then; zero = it will not.
func ProblemOf(obj any, now time.Time) (kind observe.ProblemKind, due time.Time) {
	switch o := obj.(type) {
	case *corev1.Pod:
		return countedPodProblem(o, now)
	case *batchv1.Job:
		if jobEnd(o).Type == jobFailed && o.DeletionTimestamp == nil {
			return observe.HasFailed, time.Time{}
		}
	case *corev1.Node:
		return countedNodeProblem(o, now)
	}
	return "", time.Time{}
}

// countedNodeProblem finds nothing in a Node whose kubelet, and the node controllers, have not reported yet whether it is ready.
func countedNodeProblem(node *corev1.Node, now time.Time) (kind observe.ProblemKind, due time.Time) {
	i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 || node.Status.Conditions[i].Status == corev1.ConditionTrue || node.DeletionTimestamp != nil {
		return "", time.Time{}
	}
	since := node.Status.Conditions[i].LastTransitionTime
	if since.Before(&node.CreationTimestamp) { // its creator has set the condition
		since = node.CreationTimestamp
	}
	if due = since.Add(maxUnready); now.Before(due) {
		return "", due
	}
	return observe.NotReady, time.Time{}
}

func countedPodProblem(pod *corev1.Pod, now time.Time) (kind observe.ProblemKind, due time.Time) {
	switch {
	case pod.DeletionTimestamp != nil, pod.Status.Phase == corev1.PodSucceeded:
		return "", time.Time{}
	case pod.Status.Phase == corev1.PodFailed:
		if metav1.GetControllerOf(pod) != nil { // which replaces it, or fails
			return "", time.Time{}
		}
		return observe.HasFailed, time.Time{}
	case len(pod.Status.ContainerStatuses) > 0 && areReady(pod.Status.InitContainerStatuses) && areReady(pod.Status.ContainerStatuses):
		return "", time.Time{} // as most of many Pods: this is quick
	}
	if kind = podProblem(pod).kind; kind != "" {
		return kind, time.Time{}
	}
	due = latestStart(pod)
	if !due.IsZero() && !now.Before(due) {
		return observe.CannotStart, time.Time{}
	}
	return "", due
}

// areReady reports whether containers are ready or have completed.
func areReady(list []corev1.ContainerStatus) bool {
	for i := range list {
		if end := list[i].State.Terminated; !list[i].Ready && (end == nil || end.ExitCode != 0) {
			return false
		}
	}
	return true
}

// latestStart returns when a Pod whose kubelet has not made its sandbox yet counts as one that cannot start; zero for others.
func latestStart(pod *corev1.Pod) time.Time {
	if pod.Status.Phase != corev1.PodPending {
		return time.Time{}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionFalse {
			return c.LastTransitionTime.Add(maxStart)
		}
	}
	return time.Time{}
}
