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
			if t, ok := containerProblem(&list[i]); ok {
				return nameContainer(t, pod, &list[i]), true
			}
		}
	}
	if t, ok := initProblem(pod); ok {
		return t, true
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
func nameContainer(t problem, pod *corev1.Pod, c *corev1.ContainerStatus) problem {
	t.container, t.text = c.Name, fmt.Sprintf("container %s %s", c.Name, t.text)
	if t.clarity == clarityCrashed {
		t.log = &ContainerLog{Previous: c.State.Terminated == nil}
		if len(pod.Spec.InitContainers)+len(pod.Spec.Containers) > 1 {
			t.log.Container = c.Name
		}
	}
	return t
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
		t := problem{clarity: clarityStuck, text: "is waiting: " + joinReason(w.Reason, w.Message), trouble: observe.CannotStart}
		if w.Reason == "CrashLoopBackOff" {
			t.end, t.trouble = last, observe.WaitsForRestart
		}
		if last != nil {
			t.clarity, t.text = clarityCrashed, fmt.Sprintf("%s; %s, %s", t.text, exitText(last), restartsText(c))
		}
		return t, true
	}
	if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
		return problem{clarity: clarityCrashed, text: exitText(t), end: t}, true
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
func exitText(t *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("exited with code %d", t.ExitCode)
	if t.Signal != 0 {
		text += fmt.Sprintf(", signal %d", t.Signal)
	}
	if t.Reason != "" {
		text += " (" + t.Reason + ")"
	}
	if t.Message != "" {
		text += ": " + t.Message
	}
	return text
}

func restartsText(c *corev1.ContainerStatus) string {
	return "restarted " + words.Times(c.RestartCount)
}
