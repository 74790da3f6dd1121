package nodes

import (
	"cmp"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	kubepod "k8s.io/kubernetes/pkg/kubelet/pod"
	"k8s.io/kubernetes/pkg/kubelet/status"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

// terminatingStatus returns the status of a Pod that is being deleted while its containers
// stop. As with a kubelet, their readiness is still probed, and the rest stays as it was.
func terminatingStatus(pod *corev1.Pod, commands commandRunner, now time.Time) corev1.PodStatus {
	st := *pod.Status.DeepCopy()
	if st.StartTime == nil { // its node has not reported it before
		return st
	}
	st.ObservedGeneration = pod.Generation
	behavior, _ := podBehaviorOf(pod)
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses} {
		for i, s := range list {
			_, kind, _ := findContainer(pod, s.Name)
			if s.State.Running == nil || commands.runtime == nil || kind == initContainer {
				continue
			}
			state, known := commands.runtime.State(pod.UID, s.Name, s.RestartCount)
			if known && state.Decides() && state.Phase == container.Running {
				r := containerRun{pod: pod, kind: kind, behavior: behavior, now: now}
				list[i] = r.followCommand(s, state)
			}
		}
	}
	if exceedsDeadline(pod, &st, now) {
		setFailingConditions(pod, &st, now)
	} else {
		setConditions(pod, &st, now)
	}
	return st
}

// mustTerminate reports whether terminateAll has a container to terminate that has run.
func mustTerminate(st *corev1.PodStatus) bool {
	return slices.ContainsFunc(slices.Concat(st.InitContainerStatuses, st.ContainerStatuses, st.EphemeralContainerStatuses), func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil || s.State.Waiting != nil && s.LastTerminationState.Terminated != nil
	})
}

// terminateAll terminates the containers of a Pod that ends. The code is of those that run
// without a command; a command that still runs is killed.
func terminateAll(pod *corev1.Pod, st *corev1.PodStatus, commands commandRunner, now time.Time, code int32) {
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses, st.EphemeralContainerStatuses} {
		for i, s := range list {
			if end, found := commands.unreportedEnd(pod, s); found {
				list[i] = end
				continue
			}
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
				_, kind, _ := findContainer(pod, s.Name)
				list[i] = terminatedStatus(pod, s, kind, end)
			case s.State.Waiting != nil && s.LastTerminationState.Terminated != nil:
				list[i].State, list[i].LastTerminationState = s.LastTerminationState, corev1.ContainerState{}
			}
		}
	}
	terminateUnstarted(pod, st)
}

// unreportedEnd returns the status of a container whose newest run has ended before its status told that it had
// started: its Pod was stopped while its postStart hook ran.
func (c commandRunner) unreportedEnd(pod *corev1.Pod, s corev1.ContainerStatus) (corev1.ContainerStatus, bool) {
	spec, kind, found := findContainer(pod, s.Name)
	if c.runtime == nil || s.State.Running != nil || !found {
		return s, false
	}
	last := cmp.Or(s.State.Terminated, s.LastTerminationState.Terminated)
	if last != nil && !isLost(s) && !isRemovedForRestart(s) {
		s.RestartCount++
	}
	end, known := c.runtime.State(pod.UID, s.Name, s.RestartCount)
	if !known || end.Phase != container.Ended || !end.Command {
		return s, false
	}
	s.LastTerminationState = corev1.ContainerState{Terminated: last}
	s = startedStatus(pod, spec, s, end.StartedAt)
	s.User = containerUser(pod, spec)
	return terminatedStatus(pod, s, kind, end), true
}

// terminateUnstarted sets what a kubelet reports of containers that were to start, but did not
// until their Pod ended. Which these are follows from the status of the Pod before.
func terminateUnstarted(pod *corev1.Pod, st *corev1.PodStatus) {
	isUnfinished := func(s corev1.ContainerStatus) bool { return s.State.Terminated == nil }
	if !slices.ContainsFunc(st.InitContainerStatuses, isUnfinished) && !slices.ContainsFunc(st.ContainerStatuses, isUnfinished) {
		return // as of nearly every Pod that ends: the status manager is not cheap
	}
	kubelet := status.NewManager(nil, kubepod.NewBasicPodManager(), nil, nil)
	kubelet.SetPodStatus(logr.Discard(), pod, *st)
	if _, known := kubelet.GetPodStatus(pod.UID); !known {
		return // upstream refuses what other clients have written
	}
	kubelet.TerminatePod(logr.Discard(), pod)
	reported, _ := kubelet.GetPodStatus(pod.UID)
	for i, s := range st.InitContainerStatuses {
		st.InitContainerStatuses[i].State = containerStatusOf(reported.InitContainerStatuses, s.Name).State
	}
	for i, s := range st.ContainerStatuses {
		st.ContainerStatuses[i].State = containerStatusOf(reported.ContainerStatuses, s.Name).State
	}
}
