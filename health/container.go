package health

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// containersProblem is the first thing wrong with a container of a Pod.
func containersProblem(pod *corev1.Pod) (trouble, bool) {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if t, ok := containerProblem(c); ok {
			t.text = fmt.Sprintf("container %s %s", c.Name, t.text)
			return t, true
		}
	}
	if pod.Status.Phase != corev1.PodRunning {
		return trouble{}, false
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil && !c.Ready {
			return trouble{clarityUnready, fmt.Sprintf("container %s runs, but is not ready", c.Name), true}, true
		}
	}
	return trouble{}, false
}

func containerProblem(c corev1.ContainerStatus) (trouble, bool) {
	if w := c.State.Waiting; w != nil && !slices.Contains([]string{"", "ContainerCreating", "PodInitializing"}, w.Reason) {
		text := "waits: " + joinReason(w.Reason, w.Message)
		if last := c.LastTerminationState.Terminated; last != nil {
			return trouble{clarityCrashed, fmt.Sprintf("%s; it %s, %s", text, exitText(last), restartsText(c)), false}, true
		}
		return trouble{clarityStuck, text, false}, true
	}
	if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
		return trouble{clarityCrashed, exitText(t), false}, true
	}
	if last := c.LastTerminationState.Terminated; last != nil && !c.Ready {
		return trouble{clarityCrashed, fmt.Sprintf("is not ready; it %s, %s", exitText(last), restartsText(c)), false}, true
	}
	if w := c.State.Waiting; w != nil && w.Reason == "ContainerCreating" {
		return trouble{clarityStarting, "is being created", true}, true
	}
	return trouble{}, false
}

// exitText says how a container did: "ended with exit code 1 (Error)".
func exitText(t *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("ended with exit code %d", t.ExitCode)
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

func restartsText(c corev1.ContainerStatus) string { return "restarted " + timesText(c.RestartCount) }

func timesText(n int32) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
