package main

import (
	"context"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
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

// describeFailedNode says that a node was failed by a user, and which command recovers it; "" if it was not, or if that
// cannot be found out.
func (t *target) describeFailedNode(ctx context.Context, cfg *rest.Config, node string) string {
	client, err := controlrest.NewClient(cfg)
	if err != nil {
		return ""
	}
	return ui.DescribeFailedNode(listFailedNodes(ctx, client.Nodes()), node, t.commandLine)
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
