package main

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/ui"
)

// listFailedNodes returns the nodes that were failed by a user, or nothing if that cannot be found out.
func listFailedNodes(ctx context.Context, nodes control.Nodes) []control.Node {
	list, err := nodes.List(ctx)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(n control.Node) bool { return !n.Failed })
}

// addFailedNodes adds to the reasons of Nodes that are not healthy that a user has failed them, as far as that can be found out.
func (t *target) addFailedNodes(ctx context.Context, nodes control.Nodes, list []control.UnhealthyObject) {
	isNode := func(o control.UnhealthyObject) bool { return o.Object.Kind == "Node" && o.Object.Group == "" }
	if !slices.ContainsFunc(list, isNode) {
		return
	}
	failed := listFailedNodes(ctx, nodes)
	for i := range list {
		if why := ui.DescribeFailedNode(failed, list[i].Object.Name, t.commandLine); isNode(list[i]) && why != "" {
			list[i].Reason = strings.TrimSuffix(list[i].Reason, ".") + "; " + why
		}
	}
}

// explainFailedNode says that a Node, or the node of a Pod, is one of those that were failed by a user; "" if it is
// not, or if that cannot be found out.
func (t *target) explainFailedNode(ctx context.Context, cfg *rest.Config, failed []control.Node, kind schema.GroupKind, namespace, name string) string {
	if len(failed) == 0 {
		return ""
	}
	switch kind {
	case schema.GroupKind{Kind: "Node"}:
	case schema.GroupKind{Kind: "Pod"}:
		core, err := corev1client.NewForConfig(cfg)
		if err != nil {
			return ""
		}
		pod, err := core.Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return ""
		}
		name = pod.Spec.NodeName
	default:
		return ""
	}
	return ui.DescribeFailedNode(failed, name, t.commandLine)
}
