package learn

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui"
)

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// revertNodes removes the nodes that were added, unless Pods of other namespaces than the lesson's run there, and lets those
// recover that have failed. It leaves cordoned nodes alone: another user may have cordoned them. left says which ones, and
// which added ones remain.
func (p *controlPlane) revertNodes(ctx context.Context, h *initialState, namespace string) (left []string, err error) {
	list, err := p.control.Nodes().List(ctx)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, n := range list {
		was, had := h.nodes[n.Name]
		name := words.OneLine(n.Name)
		if !had && !n.Own { // a user has created it
			continue
		}
		if !had {
			used, err := p.runsForeignPods(ctx, n.Name, namespace)
			switch {
			case err != nil:
				errs = append(errs, err)
				continue
			case !used:
				errs = append(errs, p.control.Nodes().Remove(ctx, n.Name))
				continue
			}
			left = append(left, name+", which the lesson has added, stays: Pods of other namespaces run on it.")
		}
		if n.Failed && !was.Failed {
			errs = append(errs, p.control.Nodes().Recover(ctx, n.Name))
		}
		if n.Unschedulable && !was.Unschedulable {
			left = append(left, name+", which was cordoned during the lesson, stays so: `kubectl uncordon "+ui.QuotePOSIX(name)+"` makes it schedulable.")
		}
	}
	return left, errors.Join(errs...)
}

// runsForeignPods reports whether Pods of other namespaces than the lesson's run on a node: they would be lost with it.
func (p *controlPlane) runsForeignPods(ctx context.Context, node, namespace string) (bool, error) {
	running := "spec.nodeName=" + node + ",status.phase!=Succeeded,status.phase!=Failed"
	list, err := p.objects.Resource(podResource).List(ctx, metav1.ListOptions{FieldSelector: running})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.Items, func(pod unstructured.Unstructured) bool {
		owner := metav1.GetControllerOf(&pod)
		ofDaemonSet := owner != nil && owner.Kind == "DaemonSet" // it is for the node
		return !isOfLesson(pod.GetNamespace(), namespace) && !ofDaemonSet
	}), nil
}
