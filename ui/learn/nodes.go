package learn

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var (
	nodeResource = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	podResource  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// revertNodes removes the nodes that were added, lets those recover that have failed, and makes those schedulable that were
// cordoned. kept are added nodes on which Pods of other namespaces than the lesson's run.
func (p *controlPlane) revertNodes(ctx context.Context, h *initialState, namespace string) (kept []string, err error) {
	list, err := p.control.Nodes().List(ctx)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, n := range list {
		was, had := h.nodes[n.Name]
		if !had && n.Own {
			used, err := p.runsForeignPods(ctx, n.Name, namespace)
			switch {
			case err != nil:
				errs = append(errs, err)
			case used:
				kept = append(kept, n.Name)
			default:
				errs = append(errs, p.control.Nodes().Remove(ctx, n.Name))
			}
		}
		if had && n.Failed && !was.Failed {
			errs = append(errs, p.control.Nodes().Recover(ctx, n.Name))
		}
		if had && n.Unschedulable && !was.Unschedulable {
			errs = append(errs, p.uncordon(ctx, n.Name))
		}
	}
	return kept, errors.Join(errs...)
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

// uncordon makes a node schedulable again.
func (p *controlPlane) uncordon(ctx context.Context, node string) error {
	_, err := p.objects.Resource(nodeResource).Patch(ctx, node, types.MergePatchType, []byte(`{"spec":{"unschedulable":null}}`), metav1.PatchOptions{})
	return err
}
