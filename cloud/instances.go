package cloud

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

// idPrefix begins the provider ID of every machine of ours.
const idPrefix = ProviderName + "://"

// ProviderID is the spec.providerID of a node that the provider has a machine for.
func ProviderID(node string) string { return idPrefix + node }

// instances are the machines. Nodes of another provider, or of none, are left
// alone: as far as this one knows, they exist.
type instances struct{ exists func(node string) bool }

func (i instances) InstanceExists(_ context.Context, node *corev1.Node) (bool, error) {
	name, ours := strings.CutPrefix(node.Spec.ProviderID, idPrefix)
	return !ours || i.exists(name), nil
}

// InstanceShutdown is false: a machine is there or is gone.
func (i instances) InstanceShutdown(context.Context, *corev1.Node) (bool, error) { return false, nil }

// InstanceMetadata is for a node that waits for its cloud to know it. No
// metadata at all leaves it waiting; upstream takes that for such nodes only.
func (i instances) InstanceMetadata(_ context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	name, ours := strings.CutPrefix(node.Spec.ProviderID, idPrefix)
	if node.Spec.ProviderID == "" {
		name, ours = node.Name, true
	}
	if ours && i.exists(name) {
		return &cloudprovider.InstanceMetadata{ProviderID: ProviderID(name)}, nil
	}
	waits := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == cloudproviderapi.TaintExternalCloudProvider
	})
	if waits {
		return nil, nil
	}
	return &cloudprovider.InstanceMetadata{}, nil
}
