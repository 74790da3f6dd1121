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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/kubeletlogs"
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
	return func(ctx context.Context, r logRequest) (logEnd, error) {
		if r.node == "" || r.runID == "" {
			return logEnd{}, errNoLog
		}
		folder := fmt.Sprintf("%s_%s_%s", r.namespace, r.pod, r.uid)
		log, err := client.RESTClient().Get().Resource("nodes").Name(r.node).SubResource("proxy").
			Suffix("logs", "pods", folder, r.container, path.Base(r.runID)+".log").Stream(ctx)
		switch {
		case apierrors.IsNotFound(err): // no command has run, or so many containers were removed since that it is dropped
			return logEnd{}, errNoLog
		case err != nil:
			return logEnd{}, err
		}
		defer log.Close()
		file, earlier, err := readEnd(log, maxLogRead)
		text := kubeletlogs.FileText(file)
		return logEnd{text, earlier, kubeletlogs.MayBeCut(len(text), strings.Count(file, "\n"), kubeletlogs.MaxRemovedBytes)}, err
	}, nil
}

// readLogs adds to the unhealthy objects of s the logs of containers that they control.
func (d *Deletions) readLogs(ctx context.Context, of *deletion, s *State) (err error) {
	if len(s.unhealthy) == 0 || d.logs >= maxDeletedLogs || d.onlyCustom {
		return nil
	}
	all := State{objects: s.objects}
	if of.namespace != "" && of.resource != "pods" {
		all.objects, err = d.readControlled(ctx, of, s)
	}
	logs := all.readLogs(ctx, d.readLog, maxDeletedLogs-d.logs)
	for i := range s.unhealthy {
		s.unhealthy[i].Logs = logs[s.unhealthy[i].uid]
		d.logs += len(s.unhealthy[i].Logs)
	}
	return err
}

// readControlled returns the Pods with a log that is wanted that the unhealthy objects of s control, and what is between them.
func (d *Deletions) readControlled(ctx context.Context, of *deletion, s *State) ([]unstructured.Unstructured, error) {
	objects := objectclients.At(d.clients.Objects, of.version)
	pods, err := objects.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(of.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list Pods: %w", err)
	}
	known, unhealthy := map[types.UID]bool{}, map[types.UID]bool{}
	for i := range s.unhealthy {
		known[s.unhealthy[i].uid], unhealthy[s.unhealthy[i].uid] = true, true
	}
	list := slices.DeleteFunc(pods.Items, func(u unstructured.Unstructured) bool { return len(logRequestsOf(&u)) == 0 })
	for i := 0; i < len(list); i++ { // their owners are appended
		ref := metav1.GetControllerOf(&list[i])
		if ref == nil || known[ref.UID] {
			continue
		}
		known[ref.UID] = true
		owner, ownerErr := d.readOwner(ctx, objects, of.namespace, ref)
		if err = errors.Join(err, ownerErr); owner != nil {
			list = append(list, *owner)
		}
	}
	owners := ownersOf(list)
	return slices.DeleteFunc(list, func(u unstructured.Unstructured) bool {
		return !slices.ContainsFunc(controlChain(owners, u.GetUID()), func(uid types.UID) bool { return unhealthy[uid] })
	}), err
}

// readOwner returns the object of a namespace that a reference names; nil if it did not exist.
func (d *Deletions) readOwner(ctx context.Context, objects dynamic.Interface, namespace string, ref *metav1.OwnerReference) (*unstructured.Unstructured, error) {
	m, err := d.mapper.Find(ctx, schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind().String())
	switch {
	case meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, err
	case m.Scope.Name() != meta.RESTScopeNameNamespace:
		return nil, nil
	}
	u, err := objects.Resource(m.Resource).Namespace(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && u.GetUID() != ref.UID {
		return nil, nil
	}
	return u, err
}
