package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/kubeletlogs"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

const (
	maxLogs       = 20              // containers whose log is read
	maxObjectLogs = 3               // of them for one object
	maxLogRead    = 512 << 10       // bytes of a log that are searched for the beginning of a crash: all that a kubelet keeps
	logTimeout    = 5 * time.Second // for all logs
)

// What the page has of a log.
const (
	maxLogLines = 200
	maxLogBytes = 64 << 10
	maxLogLine  = 4000 // runes
	maxCrash    = 20   // lines from the beginning of a crash, if that is further up
)

// What has it in short: stderr, junit.xml and the job summary.
const (
	maxShortLines = 10
	maxShortLine  = 500 // runes
	maxShortCrash = 4
)

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// containerLog is the end of the log of a container that has a problem.
type containerLog struct {
	Title       string
	Kept, Short excerpt
}

// Lines counts the lines that the page has.
func (l containerLog) Lines() (n int) {
	for _, part := range l.Kept {
		n += len(part.Lines)
	}
	return n
}

// HasMore reports whether more lines are kept than the short excerpt has, or more of them.
func (l containerLog) HasMore() bool { return !reflect.DeepEqual(l.Kept, l.Short) }

// logRequest is a run of a container whose log is wanted.
type logRequest struct {
	namespace, pod, container string
	previous                  bool

	// What is needed if the Pod is deleted.
	node  string
	uid   types.UID
	runID string // the ID of the container in its status
}

// logEnd is the end of a container's log.
type logEnd struct {
	text    string
	earlier int  // lines before it that were read
	cut     bool // the kubelet may have dropped lines before those
}

// logReader reads the end of a container's log. errNoLog says that it has none.
type logReader func(context.Context, logRequest) (logEnd, error)

func newLogReader(cfg *rest.Config) (logReader, error) {
	client, err := typedcorev1.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r logRequest) (logEnd, error) {
		// LimitBytes would cut off the end.
		log, err := client.Pods(r.namespace).GetLogs(r.pod, &corev1.PodLogOptions{Container: r.container, Previous: r.previous}).Stream(ctx)
		if err != nil {
			return logEnd{}, err
		}
		defer log.Close()
		text, earlier, err := readEnd(log, maxLogRead)
		return logEnd{text, earlier, kubeletlogs.MayBeCut(len(text), earlier+strings.Count(text, "\n"), kubeletlogs.MaxBytes)}, err
	}, nil
}

// readEnd returns the last bytes of a text, from the beginning of a line if there is one, and how many lines precede them.
func readEnd(r io.Reader, most int) (text string, earlier int, err error) {
	var end []byte
	drop := func(n int) {
		if next := bytes.IndexByte(end[n:], '\n') + 1; next > 0 && end[n-1] != '\n' && n+next < len(end) {
			n += next
		}
		earlier += bytes.Count(end[:n], []byte("\n"))
		end = append(end[:0], end[n:]...)
	}
	for buf := make([]byte, 32<<10); err == nil; {
		var n int
		n, err = r.Read(buf)
		if end = append(end, buf[:n]...); len(end) > 2*most { // seldom, as it copies
			drop(len(end) - most)
		}
	}
	if over := len(end) - most; over > 0 {
		drop(over)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return string(end), earlier, err
}

// readLogs reads the logs of containers with a problem. It returns them by the UIDs of
// their Pods and of all objects that control those, of as many containers as most says.
func (s *State) readLogs(ctx context.Context, read logReader, most int) map[types.UID][]containerLog {
	ctx, cancel := context.WithTimeoutCause(ctx, logTimeout, fmt.Errorf("no answer within %v", logTimeout))
	defer cancel()
	owners := ownersOf(s.objects)
	logs, count := map[types.UID][]containerLog{}, 0
	for i := range s.objects {
		u := &s.objects[i]
		chain := controlChain(owners, u.GetUID())
		for _, r := range logRequestsOf(u) {
			if count >= most || len(logs[chain[len(chain)-1]]) == maxObjectLogs {
				break
			}
			log, ok := readLog(ctx, read, r)
			if !ok {
				continue
			}
			count++
			for _, uid := range chain {
				logs[uid] = append(logs[uid], log)
			}
		}
	}
	return logs
}

// ownersOf returns the UIDs of the owners that control objects, by the UIDs of those.
func ownersOf(objects []unstructured.Unstructured) map[types.UID]types.UID {
	owners := map[types.UID]types.UID{}
	for i := range objects {
		if owner := metav1.GetControllerOf(&objects[i]); owner != nil {
			owners[objects[i].GetUID()] = owner.UID
		}
	}
	return owners
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

// logRequestsOf returns the logs that are wanted of an object, which only a Pod that is not healthy has.
func logRequestsOf(u *unstructured.Unstructured) []logRequest {
	var pod corev1.Pod
	if u.GroupVersionKind() != podKind || health.StateOf(u).Status == health.Current ||
		runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &pod) != nil { // its reason says so
		return nil
	}
	return logRequests(&pod)
}

// logRequests returns for each container with a problem the run that shows it: the current
// one, unless that has not begun or is only another attempt.
func logRequests(pod *corev1.Pod) (list []logRequest) {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		r := logRequest{namespace: pod.Namespace, pod: pod.Name, container: c.Name, node: pod.Spec.NodeName, uid: pod.UID, runID: c.ContainerID}
		ended, last := c.State.Terminated, c.LastTerminationState.Terminated
		switch {
		case ended != nil && ended.ExitCode != 0:
		case ended == nil && last != nil && !c.Ready:
			r.previous, r.runID = true, last.ContainerID
		case c.State.Running == nil || c.Ready:
			continue
		}
		list = append(list, r)
	}
	return list
}

// readLog reads a log. It returns false if the container has none.
func readLog(ctx context.Context, read logReader, r logRequest) (log containerLog, ok bool) {
	log = containerLog{Title: fmt.Sprintf("log of Pod %s/%s, container %s", r.namespace, r.pod, r.container)}
	if r.previous {
		log.Title += ", before its restart"
	}
	log.Title = words.OneLine(log.Title)
	end, err := read(ctx, r)
	switch {
	case errors.Is(err, errNoLog):
		return log, false
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
		fallthrough
	case err != nil:
		log.Title += ": cannot be read: " + words.OneLine(err.Error())
		return log, true
	case end.text == "":
		log.Title += ": empty"
		return log, true
	}
	lines := words.Lines(end.text)
	log.Kept = newExcerpt(lines, end.earlier, countFitting(lines), maxCrash).truncated(maxLogLine)
	log.Short = newExcerpt(lines, end.earlier, maxShortLines, maxShortCrash).truncated(maxShortLine)
	log.Kept[0].Cut, log.Short[0].Cut = end.cut, end.cut
	return log, true
}

// countFitting returns how many of the last lines the page has.
func countFitting(lines []string) (n int) {
	for size := 0; n < min(len(lines), maxLogLines); n++ {
		line := lines[len(lines)-1-n]
		if size += len(truncateText(line, maxLogLine)); size > maxLogBytes {
			return n
		}
	}
	return n
}

// logText returns logs as lines. None of them can be taken for a command of a CI service. where says where lines are that
// are left out.
func logText(logs []containerLog, where string) (lines []string) {
	for _, log := range logs {
		lines = append(lines, log.Title)
		for _, line := range log.Short.text(where) {
			lines = append(lines, "  | "+line)
		}
	}
	return lines
}
