package kubelet

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// containerRun is a run of a container: from one start to its end.
type containerRun struct {
	id      string // the container's ID
	started metav1.Time
	end     *corev1.ContainerStateTerminated // nil while it runs
}

// findRun is the run whose log is asked for: the newest that has started, or the
// one before the current. Where there is none, the error is a kubelet's.
func findRun(pod *corev1.Pod, container string, previous bool) (containerRun, error) {
	none := func(format string, args ...any) (containerRun, error) {
		return containerRun{}, statusError{http.StatusBadRequest, fmt.Sprintf("container %q in pod %q ", container, pod.Name) + fmt.Sprintf(format, args...)}
	}
	status, ok := containerStatus(pod, container)
	if !ok {
		return none("is not available")
	}
	now, last := status.State, status.LastTerminationState.Terminated
	switch {
	case previous && (last == nil || last.ContainerID == ""):
		return containerRun{}, statusError{http.StatusBadRequest, fmt.Sprintf("previous terminated container %q in pod %q not found", container, pod.Name)}
	case previous:
		return endedRun(last), nil
	case now.Running != nil:
		return containerRun{id: status.ContainerID, started: now.Running.StartedAt}, nil
	case now.Terminated != nil && now.Terminated.ContainerID != "":
		return endedRun(now.Terminated), nil
	case last != nil && last.ContainerID != "":
		return endedRun(last), nil
	case now.Terminated != nil:
		return none("is terminated")
	case now.Waiting == nil:
		return none("is waiting to start - no logs yet")
	}
	return none("is waiting to start: %s", now.Waiting.Reason)
}

func endedRun(end *corev1.ContainerStateTerminated) containerRun {
	return containerRun{id: end.ContainerID, started: end.StartedAt, end: end}
}

// findEnd is how a run has ended, as the pod's status remembers it; false while it
// goes on.
func (r containerRun) findEnd(pod *corev1.Pod, container string) (*corev1.ContainerStateTerminated, bool) {
	status, _ := containerStatus(pod, container)
	for _, state := range []corev1.ContainerState{status.State, status.LastTerminationState} {
		if state.Terminated != nil && state.Terminated.ContainerID == r.id {
			return state.Terminated, true
		}
	}
	return nil, status.ContainerID != r.id || status.State.Running == nil
}

// logLine is one of a log.
type logLine struct {
	at   time.Time
	text string
}

// logLines are the log of a run. Nothing runs, so nothing is written but what the
// pod's annotation says; without it, the log says just that.
func (r containerRun) logLines(pod *corev1.Pod, container string) []logLine {
	if _, text, ok := annotations.Lookup(pod.Annotations, annotations.Log); ok {
		var lines []logLine
		for text := range strings.Lines(text) {
			lines = append(lines, logLine{r.started.Time, strings.TrimSuffix(text, "\n")})
		}
		return lines
	}
	status, _ := containerStatus(pod, container)
	lines := []logLine{{r.started.Time, fmt.Sprintf(
		"This is a simulated container: image %s, started at %s. Nothing runs in it, so it has no output (the annotation %s of its pod can give it some).",
		status.Image, formatTime(r.started), annotations.Log)}}
	if r.end != nil {
		lines = append(lines, r.lastLine())
	}
	return lines
}

func (r containerRun) lastLine() logLine {
	return logLine{r.end.FinishedAt.Time, fmt.Sprintf("It ended at %s with exit code %d.", formatTime(r.end.FinishedAt), r.end.ExitCode)}
}

func formatTime(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }
