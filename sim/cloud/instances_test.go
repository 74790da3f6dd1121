package cloud

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

func node(name, providerID string, taints ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
	for _, key := range taints {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
	return n
}

func terminated(n *corev1.Node) *corev1.Node {
	n.Annotations = map[string]string{annotations.Terminated: annotations.Yes}
	return n
}

func TestInstances(t *testing.T) {
	waits := cloudproviderapi.TaintExternalCloudProvider
	known := &cloudprovider.InstanceMetadata{ProviderID: "ctrlplane://there"}
	nothing := &cloudprovider.InstanceMetadata{}
	for _, tc := range []struct {
		node     *corev1.Node
		exists   bool
		metadata *cloudprovider.InstanceMetadata
	}{
		{node("there", ProviderID("there")), true, known},
		{node("there", ProviderID("there"), waits), true, known},
		{node("there", "", waits), true, known},
		{terminated(node("there", ProviderID("there"))), false, nothing},
		{terminated(node("there", ProviderID("there"), waits)), false, nil},
		{terminated(node("there", "")), false, nothing},
		{terminated(node("there", "kind://there")), true, nothing},
		{node("there", "kind://there"), true, nothing},
		{node("there", "kind://there", waits), true, nil},
	} {
		exists, err := instances{}.InstanceExists(t.Context(), tc.node)
		if err != nil || exists != tc.exists {
			t.Errorf("%s: exists: %v, %v", tc.node, exists, err)
		}
		metadata, err := instances{}.InstanceMetadata(t.Context(), tc.node)
		if diff := cmp.Diff(tc.metadata, metadata); diff != "" || err != nil {
			t.Errorf("%s: metadata: %v %s", tc.node, err, diff)
		}
	}
}
