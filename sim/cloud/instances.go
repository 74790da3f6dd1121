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

// providerIDPrefix begins the provider ID of every machine of this provider.
const providerIDPrefix = providerName + "://"

// ProviderID returns the spec.providerID of a node whose machine is of this provider.
func ProviderID(node string) string { return providerIDPrefix + node }

// instances are the machines: one for each node that is not marked as terminated. It
// ignores the nodes of other providers.
type instances struct{}

func (instances) InstanceExists(_ context.Context, node *corev1.Node) (bool, error) {
	return !isOurs(node) || !annotations.IsTerminated(node), nil
}

func isOurs(node *corev1.Node) bool {
	return node.Spec.ProviderID == "" || strings.HasPrefix(node.Spec.ProviderID, providerIDPrefix)
}

// InstanceShutdown is always false: a machine is running or does not exist.
func (instances) InstanceShutdown(context.Context, *corev1.Node) (bool, error) { return false, nil }

// InstanceMetadata initializes a node of this provider. For another node that waits
// for its cloud provider it returns nil, which keeps the node waiting; upstream's node
// controller accepts nil for such nodes only.
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
