package nodes

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet/status"
	kubelettypes "k8s.io/kubernetes/pkg/kubelet/types"
)

// setConditions sets the conditions that kubelets own.
func setConditions(pod *corev1.Pod, st *corev1.PodStatus, now time.Time) {
	set := func(c corev1.PodCondition) {
		c.LastTransitionTime = metav1.NewTime(now)
		i, was := podutil.GetPodCondition(st, c.Type)
		if was == nil {
			st.Conditions = append(st.Conditions, c)
			return
		}
		if was.Status == c.Status {
			c.LastTransitionTime = was.LastTransitionTime
		}
		st.Conditions[i] = c
	}
	set(sandboxCondition(pod, st))
	containers := append([]corev1.ContainerStatus{}, st.InitContainerStatuses...) // nil would mean that they are not known
	containers = append(containers, st.ContainerStatuses...)
	set(status.GeneratePodInitializedCondition(pod, st, containers, st.Phase))
	set(status.GeneratePodReadyCondition(pod, st, st.Conditions, containers, st.Phase))
	set(status.GenerateContainersReadyCondition(pod, st, containers, st.Phase))
	if podutil.AllContainersCouldRestart(&pod.Spec) {
		holds, reason, message := restartingAllReason(pod, st)
		set(podCondition(pod, corev1.AllContainersRestarting, holds, reason, message))
	}
	set(podCondition(pod, corev1.PodScheduled, true, "", ""))
}

// setFailingConditions sets the conditions of a Pod that is to fail when its containers have stopped. As with a
// kubelet, its phase does not say so before.
func setFailingConditions(pod *corev1.Pod, st *corev1.PodStatus, now time.Time) {
	phase := st.Phase
	st.Phase = corev1.PodFailed
	setConditions(pod, st, now)
	st.Phase = phase
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType, holds bool, reason, message string) corev1.PodCondition {
	c := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: pod.Generation}
	if holds {
		c.Status = corev1.ConditionTrue
	}
	return c
}

// sandboxCondition says whether a Pod has a sandbox with an address. Upstream's function needs a runtime.
func sandboxCondition(pod *corev1.Pod, st *corev1.PodStatus) corev1.PodCondition {
	message := ""
	runs := func(s corev1.ContainerStatus) bool { return s.State.Running != nil }
	switch {
	case podutil.IsPodPhaseTerminal(st.Phase) && !slices.ContainsFunc(st.InitContainerStatuses, runs) && !slices.ContainsFunc(st.ContainerStatuses, runs):
		message = kubelettypes.PodSandboxNotReadyMsgSandboxNotReady
	case st.PodIP == "", pod.Spec.HostNetwork && !hasHostSandbox(st):
		message = kubelettypes.PodSandboxNotReadyMsgNoPodSandbox
	default:
		return podCondition(pod, corev1.PodReadyToStartContainers, true, "", "")
	}
	return podCondition(pod, corev1.PodReadyToStartContainers, false, kubelettypes.PodSandboxNotReadyReason, message)
}

// hasHostSandbox reports whether a Pod on the host network, which has an address at once, has a sandbox: it had
// one before, or a container got further than waiting for it.
func hasHostSandbox(st *corev1.PodStatus) bool {
	_, was := podutil.GetPodCondition(st, corev1.PodReadyToStartContainers)
	return was != nil && was.Status == corev1.ConditionTrue ||
		slices.ContainsFunc(slices.Concat(st.InitContainerStatuses, st.ContainerStatuses), func(s corev1.ContainerStatus) bool {
			w := s.State.Waiting
			return hasStarted(s) || w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing"
		})
}

// hasStarted reports whether a container has started, since all of its Pod began.
func hasStarted(s corev1.ContainerStatus) bool {
	return s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil && !isRemovedForRestart(s)
}
