package e2e_test

import (
	"context"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The default address ranges, as in kubeadm.
var (
	podRange     = netip.MustParsePrefix("10.128.0.0/9")
	serviceRange = netip.MustParsePrefix("10.96.0.0/12")
)

// Every node gets a Pod range of its own.
func TestNodeRanges(t *testing.T) {
	t.Parallel()
	nodes := controlPlane.client.CoreV1().Nodes()
	var taken []netip.Prefix
	for range 3 {
		n := await(t, "node with a range and an annotation", getByName(nodes, startFakeNode(t, nil).name), func(n *corev1.Node) bool {
			return n.Spec.PodCIDR != "" && n.Annotations["node.alpha.kubernetes.io/ttl"] == "0"
		})
		p, err := netip.ParsePrefix(n.Spec.PodCIDR)
		if err != nil || p.Bits() != 24 || !podRange.Contains(p.Addr()) {
			t.Errorf("range %s (%v), want a /24 of %s", n.Spec.PodCIDR, err, podRange)
		}
		if len(n.Spec.PodCIDRs) != 1 || n.Spec.PodCIDRs[0] != n.Spec.PodCIDR {
			t.Errorf("ranges %v, want %s", n.Spec.PodCIDRs, n.Spec.PodCIDR)
		}
		for _, other := range taken {
			if other.Overlaps(p) {
				t.Errorf("two nodes have %s and %s", other, p)
			}
		}
		taken = append(taken, p)
	}
}

func TestServiceAddresses(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	services := controlPlane.client.CoreV1().Services(ns)
	s := createObject(t, services, newService("web"))
	address, err := netip.ParseAddr(s.Spec.ClusterIP)
	if err != nil || !serviceRange.Contains(address) {
		t.Fatalf("cluster IP %q (%v), want one of %s", s.Spec.ClusterIP, err, serviceRange)
	}
	addresses := controlPlane.client.NetworkingV1().IPAddresses()
	if ref := getObject(t, addresses, s.Spec.ClusterIP).Spec.ParentRef; ref.Resource != "services" || ref.Namespace != ns || ref.Name != "web" {
		t.Errorf("the address belongs to %+v", ref)
	}
	same := newService("same")
	same.Spec.ClusterIP = s.Spec.ClusterIP
	if _, err := services.Create(t.Context(), same, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a second service with the address: got %v, want 422", err)
	}
	deleteObject(t, services, "web")
	awaitGone(t, "address", getByName(addresses, s.Spec.ClusterIP))
	createObject(t, services, same)

	open := newService("open")
	open.Spec.Type = corev1.ServiceTypeNodePort
	if port := createObject(t, services, open).Spec.Ports[0].NodePort; port < 30000 || port > 32767 {
		t.Errorf("node port %d", port)
	}
}

// The Service "kubernetes" has the first address of the default range, which is in
// use and so cannot be deleted.
func TestKubernetesService(t *testing.T) {
	t.Parallel()
	s := await(t, "service kubernetes", getByName(controlPlane.client.CoreV1().Services("default"), "kubernetes"), anyState)
	if want := serviceRange.Masked().Addr().Next().String(); s.Spec.ClusterIP != want || s.Spec.Ports[0].Port != 443 {
		t.Errorf("service kubernetes is at %s:%d, want %s:443", s.Spec.ClusterIP, s.Spec.Ports[0].Port, want)
	}
	ranges := controlPlane.client.NetworkingV1().ServiceCIDRs()
	await(t, "default service range", getByName(ranges, "kubernetes"), func(c *networkingv1.ServiceCIDR) bool {
		return meta.IsStatusConditionTrue(c.Status.Conditions, networkingv1.ServiceCIDRConditionReady) &&
			len(c.Spec.CIDRs) == 1 && c.Spec.CIDRs[0] == serviceRange.String() && len(c.Finalizers) == 1
	})
}

// A range that is added is used, and is deleted once no Service uses it. No other test may run while it is in use: any
// Service may get an address of it, and keeps the range as long as it exists.
func TestServiceCIDR(t *testing.T) {
	ns := createNamespace(t)
	ranges, services := controlPlane.client.NetworkingV1().ServiceCIDRs(), controlPlane.client.CoreV1().Services(ns)
	name := uniqueName("range")
	createShared(t, ranges, &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"192.168.77.0/28"}},
	}, name)
	await(t, "ready range", getByName(ranges, name), func(c *networkingv1.ServiceCIDR) bool {
		return meta.IsStatusConditionTrue(c.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	})
	s := newService("web")
	s.Spec.ClusterIP = "192.168.77.5"
	await(t, "use of the range", func(ctx context.Context) (*corev1.Service, error) {
		return services.Create(ctx, s, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	}, anyState)
	createObject(t, services, s)
	deleteObject(t, ranges, name)
	await(t, "range that waits for its service", getByName(ranges, name), func(c *networkingv1.ServiceCIDR) bool {
		return c.DeletionTimestamp != nil && meta.IsStatusConditionFalse(c.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	})
	other := newService("other")
	other.Spec.ClusterIP = "192.168.77.6"
	_ = awaitRefusal(t, "another service", "allocator not ready", dryRunCreate(services, other))
	deleteObject(t, services, "web")
	t.Parallel() // upstream keeps the range for another 10 s
	awaitGone(t, "range", getByName(ranges, name))
}
