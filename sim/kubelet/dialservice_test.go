package kubelet

import (
	"context"
	"errors"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

func TestServiceDialer(t *testing.T) {
	errNetwork := errors.New("dialled by network")
	network := func(context.Context, string, string) (net.Conn, error) { return nil, errNetwork }
	services := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, s := range []*corev1.Service{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hook"}, Spec: corev1.ServiceSpec{ClusterIP: "10.96.77.77", ClusterIPs: []string{"10.96.77.77", "fd00::4d4d"}}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "headless"}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, ClusterIPs: []string{corev1.ClusterIPNone}}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mine"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"}},
	} {
		if err := services.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	simulated := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", Annotations: map[string]string{annotations.KwokNode: annotations.KwokFake}}, Spec: corev1.NodeSpec{PodCIDRs: []string{"10.128.0.0/24"}}}
	refused := unreachableServerError{"Service default/hook"}
	for what, tc := range map[string]struct {
		addr  string
		nodes []*corev1.Node
		want  error
	}{
		"a Service, no nodes":             {"10.96.77.77:443", nil, refused},
		"a Service, its second address":   {"[fd00::4d4d]:443", nil, refused},
		"a Service, simulated nodes":      {"10.96.77.77:443", []*corev1.Node{simulated}, refused},
		"a Service, beside a real node":   {"10.96.77.77:443", []*corev1.Node{simulated, {ObjectMeta: metav1.ObjectMeta{Name: "real"}}}, errNetwork},
		"a name, as of type ExternalName": {"localhost:18443", nil, errNetwork},
		"an address of no Service":        {"10.96.77.78:443", nil, errNetwork},
		"a Pod of a simulated node":       {"10.128.0.7:8443", []*corev1.Node{simulated}, unreachableServerError{"address 10.128.0.7:8443"}},
		"a Pod of a real node":            {"10.128.1.7:8443", []*corev1.Node{simulated}, errNetwork},
		"loopback":                        {"127.0.0.1:443", nil, errNetwork},
	} {
		nodes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
		for _, n := range tc.nodes {
			if err := nodes.Add(n); err != nil {
				t.Fatal(err)
			}
		}
		s, nodeLister := new(Server), corelisters.NewNodeLister(nodes)
		s.nodeLister.Store(&nodeLister)
		dial := s.ServiceDialer(corelisters.NewServiceLister(services), nodeLister, network)
		if _, err := dial(t.Context(), "tcp", tc.addr); !errors.Is(err, tc.want) {
			t.Errorf("%s: got %v, want %v", what, err, tc.want)
		}
	}
	if _, err := new(Server).ServiceDialer(corelisters.NewServiceLister(services), corelisters.NewNodeLister(services), network)(t.Context(), "tcp", "10.96.77.77"); err == nil {
		t.Error("an address without a port is accepted")
	}
}
