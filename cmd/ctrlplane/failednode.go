package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/ui"
)

// explainFailedNode says that a Node, or the node of a Pod, was failed by a user; "" if it was not, or if that
// cannot be found out.
func (t *target) explainFailedNode(ctx context.Context, cfg *rest.Config, nodes control.Nodes, kind schema.GroupKind, namespace, name string) string {
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
	list, err := nodes.List(ctx)
	if err != nil {
		return ""
	}
	return ui.DescribeFailedNode(list, name, t.commandLine)
}
