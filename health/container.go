package health

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// containersProblem returns the first problem of a Pod's containers.
func containersProblem(pod *corev1.Pod) (problem, bool) {
	for _, list := range [...][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if p, ok := containerProblem(&list[i]); ok {
				return nameContainer(p, pod, &list[i]), true
			}
		}
	}
	if p, ok := initProblem(pod); ok {
		return p, true
	}
	if pod.Status.Phase != corev1.PodRunning {
		return problem{}, false
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil && !c.Ready {
			return problem{clarity: clarityUnready, text: fmt.Sprintf("container %s is running but not ready", c.Name), vague: true}, true
		}
	}
	return problem{}, false
}

// nameContainer completes the problem of one of a Pod's containers.
func nameContainer(p problem, pod *corev1.Pod, c *corev1.ContainerStatus) problem {
	p.container, p.text = c.Name, fmt.Sprintf("container %s %s", c.Name, p.text)
	if p.clarity == clarityCrashed {
		p.log = &ContainerLog{Previous: c.State.Terminated == nil}
		if len(pod.Spec.InitContainers)+len(pod.Spec.Containers) > 1 {
			p.log.Container = c.Name
		}
	}
	return p
}

// initProblem returns the problem of a Pod whose containers wait for an init container.
func initProblem(pod *corev1.Pod) (problem, bool) {
	list := pod.Status.InitContainerStatuses
	i := slices.IndexFunc(list, func(c corev1.ContainerStatus) bool { return isAwaited(pod, &c) })
	if i < 0 {
		return problem{}, false
	}
	switch c := &list[i]; {
	case c.State.Waiting != nil && c.State.Waiting.Reason == "PodInitializing":
		return problem{clarity: clarityStarting, text: fmt.Sprintf("container %s is being created", c.Name), vague: true}, true
	case c.State.Running != nil:
		text := fmt.Sprintf("init container %s (%d of %d) is running", c.Name, i+1, len(list))
		if isSidecar(pod, c.Name) {
			text += " but not started"
		}
		return problem{clarity: clarityUnready, text: text, vague: true, log: &ContainerLog{Container: c.Name}}, true
	}
	return problem{}, false
}

// isAwaited reports whether the containers after an init container wait for it.
func isAwaited(pod *corev1.Pod, c *corev1.ContainerStatus) bool {
	completed := c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
	isUp := c.State.Running != nil && ptr.Deref(c.Started, false) && isSidecar(pod, c.Name)
	return !completed && !isUp
}

func isSidecar(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == name && ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
	})
}

// lostReason is the reason of a kubelet for the end of a container that it does not find: how that ended is not known.
const lostReason = "ContainerStatusUnknown"

func containerProblem(c *corev1.ContainerStatus) (problem, bool) {
	last := c.LastTerminationState.Terminated
	if last != nil && last.Reason == lostReason {
		last = nil
	}
	if w := c.State.Waiting; w != nil && !slices.Contains([]string{"", "ContainerCreating", "PodInitializing"}, w.Reason) {
		p := problem{clarity: clarityStuck, text: "is waiting: " + joinReason(w.Reason, w.Message), kind: observe.CannotStart}
		if w.Reason == "CrashLoopBackOff" {
			p.end, p.kind = last, observe.WaitsForRestart
		}
		if last != nil {
			p.clarity, p.text = clarityCrashed, fmt.Sprintf("%s; %s, %s", p.text, exitText(last), restartsText(c))
		}
		return p, true
	}
	if end := c.State.Terminated; end != nil && end.ExitCode != 0 {
		return problem{clarity: clarityCrashed, text: exitText(end), end: end}, true
	}
	if last != nil && !c.Ready {
		return problem{clarity: clarityCrashed, text: fmt.Sprintf("is not ready; %s, %s", exitText(last), restartsText(c)), end: last}, true
	}
	if w := c.State.Waiting; w != nil && w.Reason == "ContainerCreating" {
		return problem{clarity: clarityStarting, text: "is being created", vague: true}, true
	}
	return problem{}, false
}

// exitText describes how a container ended: "exited with code 1 (Error)".
func exitText(end *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("exited with code %d", end.ExitCode)
	if end.Signal != 0 {
		text += fmt.Sprintf(", signal %d", end.Signal)
	}
	if end.Reason != "" {
		text += " (" + end.Reason + ")"
	}
	if end.Message != "" {
		text += ": " + end.Message
	}
	return text
}

func restartsText(c *corev1.ContainerStatus) string {
	return "restarted " + words.Times(c.RestartCount)
}
