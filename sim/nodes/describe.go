package nodes

import (
	"fmt"
	"iter"
	"strings"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
	"github.com/ctrlplane/ctrlplane/sim/container"
)

// describeSimulation returns what an event says of how a Pod is simulated; empty if its containers have no command,
// hooks and probes.
func describeSimulation(pod *corev1.Pod) string {
	behavior, _ := podBehaviorOf(pod)
	runs, assumes, said := false, false, []string{}
	for c, kind := range startedContainers(pod) {
		assumes = assumes || container.AssumesProbe(pod, c)
		args := behavior.commandOf(c, kind, 0)
		if container.CanRun(c, args) || container.MayRun(c, args) {
			runs = true
			continue
		}
		if len(args) > 0 {
			said = append(said, fmt.Sprintf("container %s needs %s: it %s", c.Name, notSimulated(container.Unknown(c, args)), behavior.outcome(c, kind)))
		}
		if skipped := container.Skipped(pod, c); len(skipped) > 0 {
			said = append(said, fmt.Sprintf("nothing runs in container %s, which skips its %s", c.Name, strings.Join(skipped, ", ")))
		}
	}
	if len(said) > 0 {
		said = append(said, "the annotation "+annotations.Run+" names a script to run instead")
	}
	if runs {
		said = append([]string{"commands run in a simulated shell, without the image and without a network"}, said...)
	}
	if assumes {
		said = append(said, "probes with httpGet, tcpSocket or grpc succeed without a request, unless "+annotations.HTTP+" answers them")
	}
	return strings.Join(said, "; ")
}

// hasCommand reports whether a container of a Pod has a command, known or not.
func hasCommand(pod *corev1.Pod) bool {
	behavior, _ := podBehaviorOf(pod)
	for c, kind := range startedContainers(pod) {
		if len(behavior.commandOf(c, kind, 0)) > 0 {
			return true
		}
	}
	return false
}

// ExplainSimulation says what the containers of a Pod do in which a program would run that is not simulated: those
// that end without it, and those whose command needs it. It is empty if there are none.
func ExplainSimulation(pod *corev1.Pod) string {
	behavior, _ := podBehaviorOf(pod)
	var said []string
	for c, kind := range startedContainers(pod) {
		args, why := behavior.commandOf(c, kind, 0), "the program of its image "+c.Image+" is not simulated"
		_, _, ends := behavior.nextExit(c, kind, 0)
		switch {
		case behavior.isAnnotated(c, kind, 0), container.CanRun(c, args), container.MayRun(c, args):
			continue
		case len(args) > 0:
			why = "its command needs " + notSimulated(container.Unknown(c, args))
		case !ends:
			continue // as nearly every server
		}
		outcome := ", which " + behavior.outcome(c, kind)
		if !ends && (pod.Status.Phase == corev1.PodPending || pod.Status.Phase == corev1.PodFailed) {
			outcome = "" // it has not started, or has ended
		}
		said = append(said, fmt.Sprintf("Nothing runs in container %s%s: %s.", c.Name, outcome, why))
	}
	if len(said) == 0 {
		return ""
	}
	return strings.Join(said, " ") + " The annotation " + annotations.Run + " of the Pod names a script to run instead."
}

// startedContainers yields the init and main containers of a Pod.
func startedContainers(pod *corev1.Pod) iter.Seq2[*corev1.Container, containerKind] {
	return func(yield func(*corev1.Container, containerKind) bool) {
		for c, of := range podutil.ContainerIter(&pod.Spec, podutil.InitContainers|podutil.Containers) {
			kind := mainContainer
			if of == podutil.InitContainers {
				kind = initContainerKind(c)
			}
			if !yield(c, kind) {
				return
			}
		}
	}
}

// outcome says what a container does in which nothing runs.
func (b podBehavior) outcome(c *corev1.Container, kind containerKind) string {
	if _, code, ends := b.nextExit(c, kind, 0); ends {
		return fmt.Sprintf("exits with %d at once", code)
	}
	return "keeps running"
}

// notSimulated says of programs and files that they are not simulated.
func notSimulated(names []string) string {
	if len(names) == 1 {
		return names[0] + ", which is not simulated"
	}
	return strings.Join(names, ", ") + ", which are not simulated"
}
