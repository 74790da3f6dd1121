package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	nodeutil "k8s.io/component-helpers/node/util"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// List returns the simulated nodes in the order of their names and numbers.
func (f *Fleet) List(ctx context.Context) ([]control.Node, error) {
	list, err := f.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	var statuses []control.Node
	for i := range list.Items {
		if node := &list.Items[i]; annotations.IsSimulated(node) {
			statuses = append(statuses, newStatus(node, f.registry.podCount(node.Name)))
		}
	}
	slices.SortFunc(statuses, func(a, b control.Node) int { return compareNames(a.Name, b.Name) })
	return statuses, nil
}

func newStatus(node *corev1.Node, pods int) control.Node {
	s := control.Node{
		Name:          node.Name,
		Ready:         string(corev1.ConditionUnknown),
		Failed:        annotations.HasFailed(node),
		Terminated:    annotations.IsTerminated(node),
		Own:           isFleetNode(node),
		Unschedulable: node.Spec.Unschedulable,
		Deleting:      node.DeletionTimestamp != nil,
		Zone:          node.Labels[corev1.LabelTopologyZone],
		CPU:           node.Status.Capacity.Cpu().String(),
		Memory:        node.Status.Capacity.Memory().String(),
		PodCIDR:       node.Spec.PodCIDR,
		Pods:          pods,
		MaxPods:       node.Status.Capacity.Pods().Value(),
		Created:       node.CreationTimestamp.Time,
	}
	if _, ready := nodeutil.GetNodeCondition(&node.Status, corev1.NodeReady); ready != nil {
		s.Ready = string(ready.Status)
	}
	return s
}

// Remove deletes simulated nodes. If a name is wrong, it deletes none. A node with finalizers is an error:
// it stays until their owners have removed them.
func (f *Fleet) Remove(ctx context.Context, names ...string) error {
	return f.forEach(ctx, names, nil, func(ctx context.Context, node *corev1.Node) error {
		if err := f.client.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete node %s: %w", node.Name, err)
		}
		if len(node.Finalizers) > 0 {
			return fmt.Errorf("node %s is being deleted, but stays until its finalizers are removed: %s", node.Name, strings.Join(node.Finalizers, ", "))
		}
		return nil
	})
}

// Fail stops the heartbeat of nodes and everything that they do for their Pods,
// until Recover. An annotation on the Node keeps this over restarts. If a name is
// wrong, no node fails.
func (f *Fleet) Fail(ctx context.Context, names ...string) error {
	return f.forEach(ctx, names, nil, func(ctx context.Context, node *corev1.Node) error {
		return f.setState(ctx, node, annotations.Failed, true)
	})
}

// Recover ends the effect of Fail. If a node cannot recover, none does.
func (f *Fleet) Recover(ctx context.Context, names ...string) error {
	return f.forEach(ctx, names, checkRecoverable, func(ctx context.Context, node *corev1.Node) error {
		return f.setState(ctx, node, annotations.Failed, false)
	})
}

func checkRecoverable(node *corev1.Node) error {
	if annotations.IsTerminated(node) {
		return usage.Errorf("node %s was terminated and cannot recover: once it is not Ready, cloud-node-lifecycle-controller deletes it", node.Name)
	}
	return nil
}

// Terminate removes the machines of nodes, as a cloud provider does. The nodes stop
// at once; when they are not Ready, cloud-node-lifecycle-controller finds that their
// machines do not exist and deletes them. If a name is wrong, no node is terminated.
func (f *Fleet) Terminate(ctx context.Context, names ...string) error {
	return f.forEach(ctx, names, nil, func(ctx context.Context, node *corev1.Node) error {
		return f.setState(ctx, node, annotations.Terminated, true)
	})
}

// forEach calls do with each of the named nodes, if all of them are simulated nodes
// and pass check, which may be nil. Its requests, and ctx of do, are for a user.
func (f *Fleet) forEach(ctx context.Context, names []string, check func(*corev1.Node) error, do func(context.Context, *corev1.Node) error) error {
	ctx = observe.ForUser(ctx) // also for the reads: that a node does not exist is not an error of a kubelet
	var list []*corev1.Node
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		node, err := f.getSimulated(ctx, name)
		if err == nil && check != nil {
			err = check(node)
		}
		if err != nil {
			return err
		}
		list = append(list, node)
	}
	for _, node := range list {
		if err := do(ctx, node); err != nil {
			return err
		}
	}
	return nil
}

// setState sets an annotation of a node to "true", or removes it.
func (f *Fleet) setState(ctx context.Context, node *corev1.Node, name string, on bool) error {
	was, ok := node.Annotations[name]
	if on == ok && (!on || was == annotations.True) {
		return nil
	}
	var value *string
	if on {
		value = new(annotations.True)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": node.UID, "annotations": map[string]*string{name: value}}})
	if err != nil {
		return fmt.Errorf("node %s: %w", node.Name, err)
	}
	if _, err := f.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("node %s: %w", node.Name, err)
	}
	return nil
}

// compareNames orders node-9 before node-10.
func compareNames(a, b string) int {
	if strings.TrimRight(a, "0123456789") == strings.TrimRight(b, "0123456789") && len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
