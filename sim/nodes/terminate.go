package nodes

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

// terminateAll terminates the containers of a Pod that ends. The code is of those that run
// without a command; a command that still runs is killed.
func terminateAll(pod *corev1.Pod, st *corev1.PodStatus, commands commandRunner, now time.Time, code int32) {
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses, st.EphemeralContainerStatuses} {
		for i, s := range list {
			switch {
			case s.State.Running != nil:
				end := container.State{ExitCode: code, FinishedAt: now}
				if commands.runtime != nil {
					switch state, known := commands.runtime.State(pod.UID, s.Name, s.RestartCount); {
					case known && state.Phase == container.Ended:
						end = state
					case known && state.Command:
						end.ExitCode = sigkillExitCode
					}
				}
				list[i] = terminatedStatus(s, end)
			case s.State.Waiting != nil && s.LastTerminationState.Terminated != nil:
				list[i].State = s.LastTerminationState
			}
		}
	}
	terminateUnstarted(st.InitContainerStatuses[:countAttempted(st.InitContainerStatuses)])
	if hadInitialized(pod) {
		terminateUnstarted(st.ContainerStatuses)
	}
}

// terminateUnstarted sets what a kubelet reports of containers that were to start, but did not
// until their Pod ended. The kubelet's own function is part of its status manager.
func terminateUnstarted(list []corev1.ContainerStatus) {
	for i := range list {
		if list[i].State.Terminated == nil {
			list[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				Reason: kubecontainer.ContainerReasonStatusUnknown, ExitCode: sigkillExitCode,
				Message: "The container could not be located when the pod was terminated",
			}}
		}
	}
}

// countAttempted returns how many init containers were to start: those up to the last one that
// has started, and at least the first.
func countAttempted(list []corev1.ContainerStatus) int {
	for i, s := range slices.Backward(list) {
		if s.State.Waiting == nil || s.LastTerminationState.Terminated != nil {
			return i + 1
		}
	}
	return min(len(list), 1)
}

// hadInitialized reports whether the main containers of a Pod were to start.
func hadInitialized(pod *corev1.Pod) bool {
	inits := pod.Spec.InitContainers
	if len(inits) == 0 || slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Waiting == nil || s.LastTerminationState.Terminated != nil
	}) {
		return true
	}
	last := &inits[len(inits)-1]
	s := containerStatusOf(pod.Status.InitContainerStatuses, last.Name)
	if initContainerKind(last) == sidecar {
		return isUp(s)
	}
	before := s.LastTerminationState.Terminated
	return hasSucceeded(s) || before != nil && before.ExitCode == 0
}
