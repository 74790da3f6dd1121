package nodes

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet/status"
)

// reasonRestartingAll is the reason of a kubelet for the containers of a Pod that begins
// from the start because of the rule action RestartAllContainers.
const reasonRestartingAll = "RestartingAllContainers"

// restartsAll reports whether a container has ended in the way for which its rules
// restart all containers of the Pod.
func restartsAll(pod *corev1.Pod, st *corev1.PodStatus) bool {
	triggers := func(containers []corev1.Container, statuses []corev1.ContainerStatus) bool {
		for i := range containers {
			end := containerStatusOf(statuses, containers[i].Name).State.Terminated
			if end == nil {
				continue
			}
			rule, found := podutil.FindMatchingContainerRestartRule(containers[i], end.ExitCode)
			if found && rule.Action == corev1.ContainerRestartRuleActionRestartAllContainers {
				return true
			}
		}
		return false
	}
	return podutil.AllContainersCouldRestart(&pod.Spec) &&
		(triggers(pod.Spec.InitContainers, st.InitContainerStatuses) || triggers(pod.Spec.Containers, st.ContainerStatuses))
}

// restartAll removes all containers of a Pod, so that it begins with its first init
// container. As with a kubelet, they get no time to stop, and volumes and ephemeral
// containers stay.
func restartAll(pod *corev1.Pod, st *corev1.PodStatus, commands commandRunner, now time.Time) {
	var ended map[string]int32
	if commands.mayStart {
		var names []string
		for c := range podutil.ContainerIter(&pod.Spec, podutil.InitContainers|podutil.Containers) {
			names = append(names, c.Name)
		}
		ended = commands.runtime.KillContainers(pod.UID, names)
	}
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses} {
		for i := range list {
			if number, ok := ended[list[i].Name]; ok {
				removeForRestart(&list[i], number)
			} else if hasStarted(list[i]) {
				removeForRestart(&list[i], list[i].RestartCount)
			}
		}
	}
	st.Phase = podPhase(pod, st)
	setConditions(pod, st, now)
}

// removeForRestart changes the status of a container whose last run had a number. The status may not know of that run yet.
func removeForRestart(s *corev1.ContainerStatus, number int32) {
	const message = "The container is removed because RestartAllContainers in place"
	s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reasonRestartingAll, Message: message}}
	s.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: reasonRestartingAll, Message: message, ExitCode: sigkillExitCode,
	}}
	s.RestartCount = max(number, s.RestartCount) + 1
	s.Ready, s.Started = false, new(false)
}

// isRemovedForRestart reports whether a container has not started since restartAll.
func isRemovedForRestart(s corev1.ContainerStatus) bool {
	last := s.LastTerminationState.Terminated
	return s.State.Waiting != nil && last != nil && last.Reason == reasonRestartingAll
}

// restartAllDelay is how long a Pod takes to begin again: at least the second that a
// kubelet needs to remove and start containers, as statuses have whole seconds.
const restartAllDelay = 2 * time.Second

// startRemoved starts a container that restartAll has removed, once that is due.
func (r *containerRun) startRemoved(s corev1.ContainerStatus) corev1.ContainerStatus {
	if _, c := podutil.GetPodCondition(r.status, corev1.AllContainersRestarting); c != nil {
		if at := c.LastTransitionTime.Add(restartAllDelay); r.now.Before(at) {
			r.wakeAt(at)
			return s
		}
	}
	return r.startContainer(s)
}

// restartingAllReason reports whether all containers of a Pod are being restarted, and
// why. Those of a Pod that has finished are not, however they ended.
func restartingAllReason(pod *corev1.Pod, st *corev1.PodStatus) (holds bool, reason, message string) {
	switch {
	case st.Phase == corev1.PodSucceeded:
		return false, status.PodCompleted, ""
	case st.Phase == corev1.PodFailed:
		return false, status.PodFailed, ""
	case restartsAll(pod, st):
		return true, status.RestartAllContainersStarted, "container exited with restart policy rule"
	}
	return false, "", ""
}
