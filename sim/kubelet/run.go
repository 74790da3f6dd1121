package kubelet

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// logAnnotation of a pod is what each of its containers writes when it starts.
const logAnnotation = "ctrlplane/log"

// run is a run of a container: from one start to its end.
type run struct {
	id      string // the container's ID
	started metav1.Time
	end     *corev1.ContainerStateTerminated // nil while it runs
}

// runOf is the run whose log is asked for: the newest that has started, or the
// one before the current. Where there is none, the error is a kubelet's.
func runOf(pod *corev1.Pod, container string, previous bool) (run, error) {
	none := func(format string, args ...any) (run, error) {
		return run{}, refusal{http.StatusBadRequest, fmt.Sprintf("container %q in pod %q ", container, pod.Name) + fmt.Sprintf(format, args...)}
	}
	status, ok := containerStatus(pod, container)
	if !ok {
		return none("is not available")
	}
	now, last := status.State, status.LastTerminationState.Terminated
	switch {
	case previous && (last == nil || last.ContainerID == ""):
		return run{}, refusal{http.StatusBadRequest, fmt.Sprintf("previous terminated container %q in pod %q not found", container, pod.Name)}
	case previous:
		return ended(last), nil
	case now.Running != nil:
		return run{id: status.ContainerID, started: now.Running.StartedAt}, nil
	case now.Terminated != nil && now.Terminated.ContainerID != "":
		return ended(now.Terminated), nil
	case last != nil && last.ContainerID != "":
		return ended(last), nil
	case now.Terminated != nil:
		return none("is terminated")
	case now.Waiting == nil:
		return none("is waiting to start - no logs yet")
	}
	return none("is waiting to start: %s", now.Waiting.Reason)
}

func ended(end *corev1.ContainerStateTerminated) run {
	return run{id: end.ContainerID, started: end.StartedAt, end: end}
}

// endOf is how a run has ended, as the pod's status remembers it; false while it
// goes on.
func (r run) endOf(pod *corev1.Pod, container string) (*corev1.ContainerStateTerminated, bool) {
	status, _ := containerStatus(pod, container)
	for _, state := range []corev1.ContainerState{status.State, status.LastTerminationState} {
		if state.Terminated != nil && state.Terminated.ContainerID == r.id {
			return state.Terminated, true
		}
	}
	return nil, status.ContainerID != r.id || status.State.Running == nil
}

// line is one of a log.
type line struct {
	at   time.Time
	text string
}

// lines are the log of a run. Nothing runs, so nothing is written but what the
// pod's annotation says; without it, the log says just that.
func (r run) lines(pod *corev1.Pod, container string) []line {
	if text, ok := pod.Annotations[logAnnotation]; ok {
		var lines []line
		for text := range strings.Lines(text) {
			lines = append(lines, line{r.started.Time, strings.TrimSuffix(text, "\n")})
		}
		return lines
	}
	status, _ := containerStatus(pod, container)
	lines := []line{{r.started.Time, fmt.Sprintf(
		"This is a simulated container: image %s, started at %s. Nothing runs in it, so it has no output (the annotation %s of its pod can give it some).",
		status.Image, stamp(r.started), logAnnotation)}}
	if r.end != nil {
		lines = append(lines, r.lastLine())
	}
	return lines
}

func (r run) lastLine() line {
	return line{r.end.FinishedAt.Time, fmt.Sprintf("It ended at %s with exit code %d.", stamp(r.end.FinishedAt), r.end.ExitCode)}
}

func stamp(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }
