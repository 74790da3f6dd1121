package health

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// containersTrouble is the first thing wrong with a container of a Pod.
func containersTrouble(pod *corev1.Pod) (trouble, bool) {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if t, ok := containerTrouble(c); ok {
			t.text = fmt.Sprintf("container %s %s", c.Name, t.text)
			return t, true
		}
	}
	if pod.Status.Phase != corev1.PodRunning {
		return trouble{}, false
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil && !c.Ready {
			return trouble{unready, fmt.Sprintf("container %s runs, but is not ready", c.Name), true}, true
		}
	}
	return trouble{}, false
}

func containerTrouble(c corev1.ContainerStatus) (trouble, bool) {
	if w := c.State.Waiting; w != nil && !slices.Contains([]string{"", "ContainerCreating", "PodInitializing"}, w.Reason) {
		text := "waits: " + because(w.Reason, w.Message)
		if last := c.LastTerminationState.Terminated; last != nil {
			return trouble{crashed, fmt.Sprintf("%s; it %s, %s", text, ended(last), restarts(c)), false}, true
		}
		return trouble{stuck, text, false}, true
	}
	if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
		return trouble{crashed, ended(t), false}, true
	}
	if last := c.LastTerminationState.Terminated; last != nil && !c.Ready {
		return trouble{crashed, fmt.Sprintf("is not ready; it %s, %s", ended(last), restarts(c)), false}, true
	}
	if w := c.State.Waiting; w != nil && w.Reason == "ContainerCreating" {
		return trouble{starting, "is being created", true}, true
	}
	return trouble{}, false
}

// ended says how a container did: "ended with exit code 1 (Error)".
func ended(t *corev1.ContainerStateTerminated) string {
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

func restarts(c corev1.ContainerStatus) string { return "restarted " + times(c.RestartCount) }

func times(n int32) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
