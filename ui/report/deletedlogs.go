package report

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/objectclients"
)

// maxDeletedLogs is how many containers of deleted objects have their log read.
const maxDeletedLogs = 60

var errNoLog = errors.New("the container has no log")

// newDeletedLogReader returns a reader of the logs that simulated kubelets keep for a while of containers whose Pod is deleted.
func newDeletedLogReader(cfg *rest.Config) (logReader, error) {
	client, err := typedcorev1.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r logRequest) (string, int, error) {
		if r.node == "" || r.runID == "" {
			return "", 0, errNoLog
		}
		folder := fmt.Sprintf("%s_%s_%s", r.namespace, r.pod, r.uid)
		log, err := client.RESTClient().Get().Resource("nodes").Name(r.node).SubResource("proxy").
			Suffix("logs", "pods", folder, r.container, path.Base(r.runID)+".log").Stream(ctx)
		switch {
		case apierrors.IsNotFound(err): // no command has run, or so many containers were removed since that it is dropped
			return "", 0, errNoLog
		case err != nil:
			return "", 0, err
		}
		defer log.Close()
		text, earlier, err := readEnd(log, maxLogRead)
		return logFileText(text), earlier, err
	}, nil
}

// logFileText returns what was written to a log, whose lines container runtimes mark with the time, the stream, and F, or P
// for a part of a line.
func logFileText(file string) string {
	var b strings.Builder
	for line := range strings.Lines(file) {
		fields := strings.SplitN(line, " ", 4)
		if len(fields) < 4 {
			continue // the rest of a line that was cut
		}
		text := fields[3]
		if fields[2] == "P" {
			text = strings.TrimSuffix(text, "\n")
		}
		b.WriteString(text)
	}
	return b.String()
}

// readLogs adds to the unhealthy objects of s the logs of containers that they control.
func (d *Deletions) readLogs(ctx context.Context, of *deletion, s *State) (err error) {
	if len(s.unhealthy) == 0 || d.logs >= maxDeletedLogs || d.onlyCustom {
		return nil
	}
	all := State{objects: s.objects}
	if of.namespace != "" && of.resource != "pods" {
		all.objects, err = d.readControlled(ctx, of)
	}
	logs := all.readLogs(ctx, d.readLog, maxDeletedLogs-d.logs)
	for i := range s.unhealthy {
		s.unhealthy[i].Logs = logs[s.unhealthy[i].uid]
		d.logs += len(s.unhealthy[i].Logs)
	}
	return err
}

// readControlled returns what was in the namespace of what was deleted, if a Pod there has a log that is wanted.
func (d *Deletions) readControlled(ctx context.Context, of *deletion) ([]unstructured.Unstructured, error) {
	objects := objectclients.At(d.clients.Objects, of.version)
	pods, err := objects.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(of.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list Pods: %w", err)
	}
	if !slices.ContainsFunc(pods.Items, func(u unstructured.Unstructured) bool { return len(logRequestsOf(&u)) > 0 }) {
		return nil, nil
	}
	lister := objectLister{d.clients.Kinds, objects, of.namespace}
	resources, discoverErr := lister.listableResources(ctx)
	list, err := lister.list(ctx, resources)
	return list, errors.Join(discoverErr, err)
}
