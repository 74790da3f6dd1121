package report

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

const (
	maxLogs       = 20 // containers whose log is read
	maxObjectLogs = 3  // of them for one object
	maxLogLines   = 10
	maxLogLine    = 500 // runes
	maxLogBytes   = 16 << 10
	logTimeout    = 5 * time.Second // for all logs
)

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// containerLog is the end of the log of a container that has a problem.
type containerLog struct {
	Title string
	Lines []string
}

// logRequest is a run of a container whose log is wanted.
type logRequest struct {
	namespace, pod, container string
	previous                  bool
}

// logReader reads the end of a container's log.
type logReader func(context.Context, logRequest) (string, error)

func newLogReader(cfg *rest.Config) (logReader, error) {
	client, err := typedcorev1.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r logRequest) (string, error) {
		lines, limit := int64(maxLogLines), int64(maxLogBytes)
		log, err := client.Pods(r.namespace).GetLogs(r.pod, &corev1.PodLogOptions{
			Container: r.container, Previous: r.previous, TailLines: &lines, LimitBytes: &limit,
		}).Stream(ctx)
		if err != nil {
			return "", err
		}
		defer log.Close()
		text, err := io.ReadAll(io.LimitReader(log, maxLogBytes))
		return string(text), err
	}, nil
}

// readLogs reads the logs of containers with a problem. It returns them by the UIDs of
// their Pods and of all objects that control those.
func (s *State) readLogs(ctx context.Context, read logReader) map[types.UID][]containerLog {
	ctx, cancel := context.WithTimeoutCause(ctx, logTimeout, fmt.Errorf("no answer within %v", logTimeout))
	defer cancel()
	owners := map[types.UID]types.UID{}
	for i := range s.objects {
		if owner := metav1.GetControllerOf(&s.objects[i]); owner != nil {
			owners[s.objects[i].GetUID()] = owner.UID
		}
	}
	logs, count := map[types.UID][]containerLog{}, 0
	for i := range s.objects {
		u := &s.objects[i]
		if u.GroupVersionKind() != podKind || health.StateOf(u).Status == health.Current {
			continue
		}
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &pod); err != nil {
			continue // its reason says so
		}
		chain := controlChain(owners, pod.UID)
		for _, r := range logRequests(&pod) {
			if count == maxLogs || len(logs[chain[len(chain)-1]]) == maxObjectLogs {
				break
			}
			count++
			log := readLog(ctx, read, r)
			for _, uid := range chain {
				logs[uid] = append(logs[uid], log)
			}
		}
	}
	return logs
}

// controlChain returns the UIDs of an object and of those that control it, up to the top.
func controlChain(owners map[types.UID]types.UID, uid types.UID) []types.UID {
	chain := []types.UID{uid}
	for {
		owner, ok := owners[chain[len(chain)-1]]
		if !ok || slices.Contains(chain, owner) { // objects may claim to own each other
			return chain
		}
		chain = append(chain, owner)
	}
}

// logRequests returns for each container with a problem the run that shows it: the current
// one, unless that has not begun or is only another attempt.
func logRequests(pod *corev1.Pod) (list []logRequest) {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		r := logRequest{pod.Namespace, pod.Name, c.Name, false}
		ended, last := c.State.Terminated, c.LastTerminationState.Terminated
		switch {
		case ended != nil && ended.ExitCode != 0:
		case ended == nil && last != nil && !c.Ready:
			r.previous = true
		case c.State.Running == nil || c.Ready:
			continue
		}
		list = append(list, r)
	}
	return list
}

func readLog(ctx context.Context, read logReader, r logRequest) containerLog {
	log := containerLog{Title: fmt.Sprintf("log of Pod %s/%s, container %s", r.namespace, r.pod, r.container)}
	if r.previous {
		log.Title += ", before its restart"
	}
	log.Title = words.OneLine(log.Title)
	text, err := read(ctx, r)
	switch {
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
		fallthrough
	case err != nil:
		log.Title += ": cannot be read: " + words.OneLine(err.Error())
		return log
	case text == "":
		log.Title += ": empty"
		return log
	}
	for _, line := range words.Lines(text) {
		log.Lines = append(log.Lines, truncateText(line, maxLogLine))
	}
	log.Lines = log.Lines[max(0, len(log.Lines)-maxLogLines):]
	return log
}

// logText returns logs as lines. None of them can be taken for a command of a CI service.
func logText(logs []containerLog) (lines []string) {
	for _, log := range logs {
		lines = append(lines, log.Title)
		for _, line := range log.Lines {
			lines = append(lines, "  | "+line)
		}
	}
	return lines
}
