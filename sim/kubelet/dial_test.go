package kubelet

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

func TestSimulatedNodesAt(t *testing.T) {
	const addr = "172.16.0.1"
	for _, test := range []struct {
		name  string
		nodes []*corev1.Node
		want  []string
		err   string
	}{
		{name: "no node"},
		{name: "a simulated node", nodes: []*corev1.Node{markSimulated(newNode("a", "a", addr)), markSimulated(newNode("b", "172.16.0.2"))}, want: []string{"a"}},
		{name: "a real node", nodes: []*corev1.Node{newNode("a", addr)}},
		{name: "another annotation", nodes: []*corev1.Node{func() *corev1.Node {
			n := newNode("a", addr)
			n.Annotations[annotations.KwokNode] = "real"
			return n
		}()}},
		{name: "a real one with the same address", nodes: []*corev1.Node{markSimulated(newNode("a", addr)), newNode("b", addr)}},
		{name: "two with the same address", nodes: []*corev1.Node{markSimulated(newNode("b", addr)), markSimulated(newNode("a", addr))}, want: []string{"a", "b"}},
		{name: "one that has failed", nodes: []*corev1.Node{markFailed(markSimulated(newNode("a", addr)))}, err: "run ctrlplane --name x nodes recover a"},
		{name: "one whose machine is gone", nodes: []*corev1.Node{markTerminated(markSimulated(newNode("a", addr)))}, err: "its machine was terminated"},
		{name: "one of two has failed", nodes: []*corev1.Node{markFailed(markSimulated(newNode("a", addr))), markSimulated(newNode("b", addr))}, want: []string{"b"}},
		{name: "a real one that looks failed", nodes: []*corev1.Node{markFailed(newNode("a", addr))}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, dead := simulatedNodesAt(test.nodes, addr)
			var err error
			if dead != nil {
				err = (&Server{program: "ctrlplane --name x"}).unreachableError(dead)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got error %v, want %q", err, test.err)
			}
		})
	}
}
