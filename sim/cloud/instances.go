package cloud

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// providerIDPrefix begins the provider ID of every machine of ours.
const providerIDPrefix = ProviderName + "://"

// ProviderID is the spec.providerID of a node that the provider has a machine for.
func ProviderID(node string) string { return providerIDPrefix + node }

// instances are the machines: one for each node, until the node is marked as
// terminated. Nodes of another provider are left alone.
type instances struct{}

func (instances) InstanceExists(_ context.Context, node *corev1.Node) (bool, error) {
	return !isOurs(node) || !annotations.IsTerminated(node), nil
}

func isOurs(node *corev1.Node) bool {
	return node.Spec.ProviderID == "" || strings.HasPrefix(node.Spec.ProviderID, providerIDPrefix)
}

// InstanceShutdown is false: a machine is there or is gone.
func (instances) InstanceShutdown(context.Context, *corev1.Node) (bool, error) { return false, nil }

// InstanceMetadata is for a node that waits for its cloud to know it. No
// metadata at all leaves it waiting; upstream takes that for such nodes only.
func (instances) InstanceMetadata(_ context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	if isOurs(node) && !annotations.IsTerminated(node) {
		return &cloudprovider.InstanceMetadata{ProviderID: cmp.Or(node.Spec.ProviderID, ProviderID(node.Name))}, nil
	}
	waits := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == cloudproviderapi.TaintExternalCloudProvider
	})
	if waits {
		return nil, nil
	}
	return &cloudprovider.InstanceMetadata{}, nil
}
