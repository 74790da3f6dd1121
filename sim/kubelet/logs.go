package kubelet

import (
	"context"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // registers the decoding of log options
	"k8s.io/kubernetes/pkg/apis/core/v1/validation"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"github.com/ctrlplane/ctrlplane/internal/listwatch"
	"github.com/ctrlplane/ctrlplane/sim/annotations"
	"github.com/ctrlplane/ctrlplane/sim/container"
)

func (a *kubeletAPI) serveLogs(w http.ResponseWriter, r *http.Request) error {
	options, err := logOptions(r)
	if err != nil {
		return err
	}
	pod, err := a.getPod(r.Context(), r.PathValue("namespace"), r.PathValue("pod"))
	if err != nil {
		return err
	}
	name := r.PathValue("container")
	if kubecontainer.GetContainerSpec(pod, name) == nil {
		return statusError{http.StatusNotFound, fmt.Sprintf("container %q not found in pod %q", name, pod.Name)}
	}
	run, err := findRun(pod, name, options.Previous)
	if err != nil {
		return err
	}
	_, annotated := pod.Annotations[annotations.Log]
	if err := a.standby(); err != nil && !annotated {
		return err // not 503 as elsewhere, in place of which the API server has a text of its own
	}
	format := newLogFormat(options, time.Now())
	write := func(lines []logLine) error {
		if _, err := w.Write(format.encodeLines(lines)); err != nil {
			return abortedError{err}
		}
		// Flush without lines, too: the client waits for the header.
		if err := http.NewResponseController(w).Flush(); err != nil {
			return abortedError{err}
		}
		return nil
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if log := a.commands.Log(pod.UID, name, run.number()); log != nil && !annotated {
		return copyLog(r.Context(), log, format, write)
	}
	if err := write(format.selectLines(run.logLines(pod, name, a.explainLog))); err != nil {
		return err
	}
	if !options.Follow || run.end != nil || format.limitReached() {
		return nil
	}
	if run.end, err = a.waitForEnd(r.Context(), run, pod, name); err != nil {
		return abortedError{err}
	}
	if annotated || run.end == nil {
		return nil
	}
	return write([]logLine{run.lastLine()})
}

// copyLog writes the output of a command.
func copyLog(ctx context.Context, log *container.Log, format *logFormat, write func([]logLine) error) error {
	read, next, changed := log.Read(0)
	lines := format.selectLines(logLines(read))
	for {
		if err := write(lines); err != nil || changed == nil || !format.options.Follow || format.limitReached() {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return abortedError{context.Cause(ctx)}
		}
		read, next, changed = log.Read(next)
		lines = format.selectStream(logLines(read))
	}
}

func logLines(read []container.LogLine) []logLine {
	lines := make([]logLine, len(read))
	for i, l := range read {
		lines[i] = logLine{l.At, l.Stderr, l.Text}
	}
	return lines
}

func logOptions(r *http.Request) (*corev1.PodLogOptions, error) {
	options := &corev1.PodLogOptions{}
	if err := legacyscheme.ParameterCodec.DecodeParameters(r.URL.Query(), corev1.SchemeGroupVersion, options); err != nil {
		return nil, statusError{http.StatusBadRequest, fmt.Sprintf("invalid log options: %v", err)}
	}
	options.TypeMeta = metav1.TypeMeta{}
	if options.Stream == nil {
		options.Stream = new(corev1.LogStreamAll)
	}
	if errs := validation.ValidatePodLogOptions(options); len(errs) > 0 {
		return nil, statusError{http.StatusUnprocessableEntity, errs.ToAggregate().Error()}
	}
	return options, nil
}

// waitForEnd returns when a run has ended, and how; nil if the Pod was deleted
// meanwhile.
func (a *kubeletAPI) waitForEnd(ctx context.Context, r containerRun, pod *corev1.Pod, container string) (end *corev1.ContainerStateTerminated, err error) {
	one := fields.OneTermEqualSelector("metadata.name", pod.Name).String()
	pods := listwatch.New(a.client.CoreV1().Pods(pod.Namespace), "", one)
	changes := cache.ToListWatcherWithWatchListSemantics(pods, a.client)
	gone := func(store cache.Store) (bool, error) { return len(store.List()) == 0, nil }
	_, err = watchtools.UntilWithSync(ctx, changes, &corev1.Pod{}, gone, func(event watch.Event) (bool, error) {
		now, ok := event.Object.(*corev1.Pod)
		if !ok {
			return false, nil
		}
		over := event.Type == watch.Deleted || now.UID != pod.UID
		if now.UID == pod.UID {
			var ended bool
			end, ended = r.findEnd(now, container)
			over = over || ended
		}
		return over, nil
	})
	return end, err
}
