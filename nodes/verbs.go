package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Status is a simulated node at a glance.
type Status struct {
	Name          string    `json:"name"`
	Ready         string    `json:"ready"`         // True, False or Unknown, as its condition says
	Failed        bool      `json:"failed"`        // by Fail: its heart-beat is stopped
	Own           bool      `json:"own"`           // made by the fleet, not by hand
	Unschedulable bool      `json:"unschedulable"` // cordoned
	Zone          string    `json:"zone,omitempty"`
	CPU           string    `json:"cpu"`
	Memory        string    `json:"memory"`
	PodCIDR       string    `json:"podCIDR,omitempty"`
	Pods          int       `json:"pods"` // bound to it
	MaxPods       int64     `json:"maxPods"`
	Created       time.Time `json:"created"`
}

// List returns the simulated nodes in the order of their numbers and names.
func (f *Fleet) List(ctx context.Context) ([]Status, error) {
	list, err := f.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot list the nodes: %w", err)
	}
	statuses := []Status{}
	for i := range list.Items {
		if node := &list.Items[i]; simulated(node) {
			statuses = append(statuses, statusOfNode(node, f.ledger.podCount(node.Name)))
		}
	}
	slices.SortFunc(statuses, func(a, b Status) int { return compareNames(a.Name, b.Name) })
	return statuses, nil
}

func statusOfNode(node *corev1.Node, pods int) Status {
	s := Status{
		Name:          node.Name,
		Ready:         string(corev1.ConditionUnknown),
		Failed:        failed(node),
		Own:           made(node),
		Unschedulable: node.Spec.Unschedulable,
		Zone:          node.Labels[corev1.LabelTopologyZone],
		CPU:           node.Status.Capacity.Cpu().String(),
		Memory:        node.Status.Capacity.Memory().String(),
		PodCIDR:       node.Spec.PodCIDR,
		Pods:          pods,
		MaxPods:       node.Status.Capacity.Pods().Value(),
		Created:       node.CreationTimestamp.Time,
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			s.Ready = string(c.Status)
		}
	}
	return s
}

// Remove deletes simulated nodes; if one of the names is wrong, none.
func (f *Fleet) Remove(ctx context.Context, names ...string) error {
	for _, name := range names {
		if _, err := f.node(ctx, name); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := f.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("cannot remove node %s: %w", name, err)
		}
	}
	return nil
}

// Fail stops the heart-beat of a node and all that it does for its pods, until
// Recover; an annotation on the node remembers it.
func (f *Fleet) Fail(ctx context.Context, name string) error {
	return f.setFailed(ctx, name, new("true"))
}

// Recover undoes Fail.
func (f *Fleet) Recover(ctx context.Context, name string) error {
	return f.setFailed(ctx, name, nil)
}

func (f *Fleet) setFailed(ctx context.Context, name string, value *string) error {
	node, err := f.node(ctx, name)
	if err != nil || failed(node) == (value != nil) {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         node.UID,
		"annotations": map[string]*string{failedAnnotation: value},
	}})
	if err != nil {
		return fmt.Errorf("node %s: %w", name, err)
	}
	if _, err := f.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("node %s: %w", name, err)
	}
	return nil
}

// compareNames puts node-9 before node-10.
func compareNames(a, b string) int {
	if strings.TrimRight(a, "0123456789") == strings.TrimRight(b, "0123456789") && len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
