package kubelet

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

func TestSimulatedAt(t *testing.T) {
	const addr = "172.16.0.1"
	for _, test := range []struct {
		name  string
		nodes []*corev1.Node
		want  []string
		err   string
	}{
		{name: "no node"},
		{name: "a simulated node", nodes: []*corev1.Node{simulated(node("a", "a", addr)), simulated(node("b", "172.16.0.2"))}, want: []string{"a"}},
		{name: "a real node", nodes: []*corev1.Node{node("a", addr)}},
		{name: "another annotation", nodes: []*corev1.Node{func() *corev1.Node {
			n := node("a", addr)
			n.Annotations[annotations.Kwok] = "real"
			return n
		}()}},
		{name: "a real one with the same address", nodes: []*corev1.Node{simulated(node("a", addr)), node("b", addr)}},
		{name: "two with the same address", nodes: []*corev1.Node{simulated(node("b", addr)), simulated(node("a", addr))}, want: []string{"a", "b"}},
		{name: "one that has failed", nodes: []*corev1.Node{failed(simulated(node("a", addr)))}, err: "nodes recover a"},
		{name: "one whose machine is gone", nodes: []*corev1.Node{gone(simulated(node("a", addr)))}, err: "its machine was terminated"},
		{name: "one of two has failed", nodes: []*corev1.Node{failed(simulated(node("a", addr))), simulated(node("b", addr))}, want: []string{"b"}},
		{name: "a real one that looks failed", nodes: []*corev1.Node{failed(node("a", addr))}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := simulatedAt(test.nodes, addr)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got error %v, want %q", err, test.err)
			}
		})
	}
}
