package nodes

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
	"github.com/ctrlplane/ctrlplane/sim/container"
)

// ExplainLog says in one line why a run of a container has no output, and how to give it
// some.
func ExplainLog(pod *corev1.Pod, name string, run int32) string {
	c, kind, found := findContainer(pod, name)
	if !found {
		c = &corev1.Container{Name: name}
	}
	behavior, _ := podBehaviorOf(pod) // an event has reported the error
	args := behavior.commandOf(c, kind, run)
	unknown := container.Unknown(c, args)
	switch {
	case len(args) > 0 && len(unknown) == 0:
		return "The output of this run is no longer known: it is kept in memory, for the last two runs of a container, until the control plane stops."
	case behavior.isAnnotated(c, kind, run):
		return nothingRuns("annotations of its Pod say how it ends", "To give it output, set the annotation "+annotations.Log+".")
	case len(unknown) > 0:
		return nothingRuns("its command needs "+notSimulated(unknown), runInstead(pod, c, kind))
	}
	return nothingRuns("the program of its image "+c.Image+" is not simulated", runInstead(pod, c, kind))
}

func nothingRuns(why, instead string) string {
	return "This is a simulated container, and nothing runs in it: " + why + ". " + instead
}

// runInstead says how to give a container output.
func runInstead(pod *corev1.Pod, c *corev1.Container, kind containerKind) string {
	run := annotations.Run
	if kind != mainContainer || len(pod.Spec.Containers) > 1 {
		run += "." + c.Name
	}
	return fmt.Sprintf("To run a shell script instead, set the annotation %s of its Pod; to set only its output, %s.", run, annotations.Log)
}

// findContainer returns the container of a Pod that has a name; false if it has none.
func findContainer(pod *corev1.Pod, name string) (c *corev1.Container, kind containerKind, found bool) {
	for c, of := range podutil.ContainerIter(&pod.Spec, podutil.AllContainers) {
		if c.Name != name {
			continue
		}
		switch of {
		case podutil.InitContainers:
			return c, initContainerKind(c), true
		case podutil.EphemeralContainers:
			return c, ephemeralContainer, true
		}
		return c, mainContainer, true
	}
	return nil, mainContainer, false
}
