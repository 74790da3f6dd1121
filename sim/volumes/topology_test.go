package volumes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func newZonalClass(mode storagev1.VolumeBindingMode, zones ...[]string) *storagev1.StorageClass {
	s := newDefaultClass(mode)
	s.Name, s.Annotations = "zonal", nil
	for _, values := range zones {
		s.AllowedTopologies = append(s.AllowedTopologies, corev1.TopologySelectorTerm{
			MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: values}}})
	}
	return s
}

func newNodeInZone(name, zone string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
}

func TestVolumeNodeAffinity(t *testing.T) {
	const now, later = storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer
	for name, test := range map[string]struct {
		class    *storagev1.StorageClass
		selected string
		want     [][]string // zones, by term
		why      string
	}{
		"everywhere":            {newZonalClass(later), "b1", nil, ""},
		"everywhere, node gone": {newZonalClass(later), "nosuch", nil, ""},
		"any that is allowed":   {newZonalClass(now, []string{"a", "b"}, []string{"c"}), "", [][]string{{"a", "b"}, {"c"}}, ""},
		"where the node is":     {newZonalClass(later, []string{"a"}, []string{"b", "c"}), "b1", [][]string{{"b"}}, ""},
		"node outside":          {newZonalClass(later, []string{"a"}), "b1", nil, "node b1 is not in the allowedTopologies of StorageClass zonal: waiting until another node is selected"},
		"node gone":             {newZonalClass(later, []string{"a"}), "nosuch", nil, "node nosuch does not exist: waiting until another node is selected"},
	} {
		t.Run(name, func(t *testing.T) {
			runInCluster(t, func(c *testCluster) {
				c.runProvisioner()
				var got [][]string
				why := ""
				for _, v := range c.listVolumes() {
					if v.Spec.NodeAffinity == nil {
						continue
					}
					for _, term := range v.Spec.NodeAffinity.Required.NodeSelectorTerms {
						got = append(got, term.MatchExpressions[0].Values)
					}
				}
				for _, e := range c.events {
					if e.Type == corev1.EventTypeWarning {
						why = e.Message
					}
				}
				if diff := cmp.Diff(test.want, got); diff != "" || why != test.why {
					c.t.Errorf("%s%q, want %q", diff, why, test.why)
				}
				if node, ok := c.getClaim("x").Annotations["volume.kubernetes.io/selected-node"]; ok != (why == "") {
					c.t.Errorf("selected node is %q", node)
				}
			}, test.class, newNodeInZone("b1", "b"), newClaim("x", "zonal", withSelectedNode(test.selected)))
		})
	}
}
