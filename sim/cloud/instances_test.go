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

func newNode(name, providerID string, taints ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
	for _, key := range taints {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
	return n
}

func markTerminated(n *corev1.Node) *corev1.Node {
	n.Annotations = map[string]string{annotations.Terminated: annotations.True}
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
		{newNode("there", ProviderID("there")), true, known},
		{newNode("there", ProviderID("there"), waits), true, known},
		{newNode("there", "", waits), true, known},
		{markTerminated(newNode("there", ProviderID("there"))), false, nothing},
		{markTerminated(newNode("there", ProviderID("there"), waits)), false, nil},
		{markTerminated(newNode("there", "")), false, nothing},
		{markTerminated(newNode("there", "kind://there")), true, nothing},
		{newNode("there", "kind://there"), true, nothing},
		{newNode("there", "kind://there", waits), true, nil},
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
