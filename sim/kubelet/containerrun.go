package kubelet

import (
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// containerRun is one run of a container, from its start to its exit.
type containerRun struct {
	id      string // the container ID
	started metav1.Time
	end     *corev1.ContainerStateTerminated // nil while it is running
}

// findRun returns the run whose log is requested: the last that has started, or with
// previous the one before the current. Its errors are those of a kubelet.
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

// findEnd returns how a run has ended, if the status of the Pod still contains it;
// false while the run lasts.
func (r containerRun) findEnd(pod *corev1.Pod, container string) (*corev1.ContainerStateTerminated, bool) {
	status, _ := containerStatus(pod, container)
	for _, state := range []corev1.ContainerState{status.State, status.LastTerminationState} {
		if state.Terminated != nil && state.Terminated.ContainerID == r.id {
			return state.Terminated, true
		}
	}
	return nil, status.ContainerID != r.id || status.State.Running == nil
}

// number returns the number of a run, the last part of its ID; -1 if it is another's.
func (r containerRun) number() int32 {
	n, err := strconv.ParseInt(path.Base(r.id), 10, 32)
	if err != nil {
		return -1
	}
	return int32(n)
}

// logLine is a line of a log.
type logLine struct {
	at     time.Time
	stderr bool
	text   string // with its line feed, which a part of a line lacks
}

// logLines returns the log of a run: the annotation of the Pod, or else lines that
// explain why the log is empty.
func (r containerRun) logLines(pod *corev1.Pod, container string, explain func(*corev1.Pod, string, int32) string) []logLine {
	if text, ok := pod.Annotations[annotations.Log]; ok {
		var lines []logLine
		for text := range strings.Lines(text) {
			lines = append(lines, logLine{at: r.started.Time, text: strings.TrimSuffix(text, "\n") + "\n"})
		}
		return lines
	}
	lines := []logLine{{at: r.started.Time, text: explain(pod, container, r.number()) + "\n"}}
	if r.end != nil {
		lines = append(lines, r.lastLine())
	}
	return lines
}

func (r containerRun) lastLine() logLine {
	return logLine{at: r.end.FinishedAt.Time, text: fmt.Sprintf("The container exited at %s with code %d.\n", formatTime(r.end.FinishedAt), r.end.ExitCode)}
}

func formatTime(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }
