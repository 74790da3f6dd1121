package health

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// simulated is the reason of the event that says what of a Pod is not simulated, and notSimulated matches that of a program.
const simulated = "Simulated"

var notSimulated = regexp.MustCompile(`^container \S+ needs .*, which (is|are) not simulated`)

// addSimulation adds to the problem of a Pod what the simulation may have to do with it.
func (s *reasonSearch) addSimulation(text string, u *unstructured.Unstructured, p problem) string {
	defer s.ignoreErrors()()
	var pod corev1.Pod
	if u.GetDeletionTimestamp() != nil || convertObject(u, &pod) != nil || pod.Spec.NodeName == "" || !s.isSimulated(pod.Spec.NodeName) {
		return text
	}
	parts := []string{text}
	if !s.options.skipPrograms {
		parts = append(parts, s.listSkippedPrograms(u, &pod)...)
	}
	return joinTexts(append(parts, s.explainMissingFile(text, &pod), s.explainNetwork(&pod, p))...)
}

// isSimulated reports whether a node has a simulated kubelet.
func (s *reasonSearch) isSimulated(node string) bool {
	u := s.getNode(node).object
	return u != nil && annotations.IsSimulated(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: u.GetAnnotations()}})
}

// listSkippedPrograms names the programs of a Pod that did not run because they are not simulated, in containers that run or
// have completed: others may wait for what they do.
func (s *reasonSearch) listSkippedPrograms(u *unstructured.Unstructured, pod *corev1.Pod) (list []string) {
	e := s.latestEvent(u, func(e *corev1.Event) bool { return e.Reason == simulated })
	for c, status := range containersOf(pod) {
		switch {
		case status.State.Running == nil && !hasCompleted(status):
		case e != nil:
			for part := range strings.SplitSeq(e.Message, "; ") {
				if strings.HasPrefix(part, "container "+c.Name+" ") && notSimulated.MatchString(part) {
					list = append(list, part)
				}
			}
		case hasCompleted(status) && len(c.Args) == 0 && runsImage(pod, c):
			list = append(list, fmt.Sprintf("container %s needs the program of its image, which is not simulated: it exits with 0 at once", c.Name))
		}
	}
	return list
}

func hasCompleted(c *corev1.ContainerStatus) bool {
	return c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
}

// runsImage reports whether a container has to run the program of its image, or of its arguments.
func runsImage(pod *corev1.Pod, c *corev1.Container) bool {
	return len(c.Command) == 0 && !c.Stdin && pod.Annotations[annotations.Run] == "" && pod.Annotations[annotations.Run+"."+c.Name] == ""
}

// containersOf yields the init and main containers of a Pod that have a status.
func containersOf(pod *corev1.Pod) func(func(*corev1.Container, *corev1.ContainerStatus) bool) {
	return func(yield func(*corev1.Container, *corev1.ContainerStatus) bool) {
		containers := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
		statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
		for i := range containers {
			of := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == containers[i].Name })
			if of >= 0 && !yield(&containers[i], &statuses[of]) {
				return
			}
		}
	}
}

// missingFile matches what a kubelet says of a Secret or a ConfigMap that a Pod needs.
var missingFile = regexp.MustCompile(`\b(secret|configmap) "[^"]+" not found`)

// explainMissingFile says that a program which does not run here may have to make the Secret or the ConfigMap for which a
// Pod waits; "" if it waits for none, or if no program of its namespace could have made it.
func (s *reasonSearch) explainMissingFile(text string, pod *corev1.Pod) string {
	if !missingFile.MatchString(text) || !s.skipsPrograms(pod.Namespace) {
		return ""
	}
	return "programs of images do not run here: if one of them makes it, create it yourself"
}

// skipsPrograms reports whether a container of a namespace has started, or a Job has completed, whose program does not run.
func (s *reasonSearch) skipsPrograms(namespace string) bool {
	skips, known := s.cache.skipping[namespace]
	if !known {
		skips = s.findSkippedProgram(namespace)
		s.cache.skipping[namespace] = skips
	}
	return skips
}

func (s *reasonSearch) findSkippedProgram(namespace string) bool {
	waiting := map[string]bool{} // UIDs of Pods of which no container has started
	for _, u := range s.list(coreResource("pods"), namespace, metav1.ListOptions{Limit: maxListed}) {
		var pod corev1.Pod
		if convertObject(&u, &pod) != nil {
			continue
		}
		waits := true
		for c, status := range containersOf(&pod) {
			hasStarted := status.State.Waiting == nil || status.LastTerminationState.Terminated != nil
			if hasStarted && runsImage(&pod, c) {
				return true
			}
			waits = waits && !hasStarted
		}
		waiting[string(u.GetUID())] = waits
	}
	for _, reason := range []string{simulated, "Completed"} { // of Jobs, which may be deleted by now
		o := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("reason", reason).String(), Limit: maxListed}
		for _, u := range s.list(coreResource("events"), namespace, o) {
			var e corev1.Event
			if convertObject(&u, &e) != nil || e.Reason != reason || waiting[string(e.InvolvedObject.UID)] {
				continue
			}
			if reason != simulated && e.InvolvedObject.GroupVersionKind().GroupKind() == jobKind || slices.ContainsFunc(strings.Split(e.Message, "; "), notSimulated.MatchString) {
				return true
			}
		}
	}
	return false
}
