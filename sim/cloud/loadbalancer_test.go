package cloud

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

func newProvider(t *testing.T, ranges string) *Provider {
	t.Helper()
	p, err := New(Config{Ranges: ranges, PodCIDR: podCIDR, ServiceCIDR: serviceCIDR})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// newService returns a Service. Its UID is its name.
func newService(name string, change ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: corev1.ServiceSpec{
			Type:       corev1.ServiceTypeLoadBalancer,
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports:      []corev1.ServicePort{{Port: 80}},
		},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func withIP(ip string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerIP = ip }
}

func withAnnotation(ips string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Annotations = map[string]string{annotations.LoadBalancerIPs: ips} }
}

func withStatusIPs(ips ...string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		for _, ip := range ips {
			s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: ip})
		}
	}
}

func withFamilies(f ...corev1.IPFamily) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.IPFamilies = f }
}

func ensureBalancer(t *testing.T, p *Provider, s *corev1.Service) (string, error) {
	t.Helper()
	got, err := p.balancer.EnsureLoadBalancer(t.Context(), clusterName, s, nil)
	if err != nil {
		return "", err
	}
	return joinIPs(got), nil
}

func joinIPs(s *corev1.LoadBalancerStatus) string {
	var all []string
	for _, ingress := range s.Ingress {
		all = append(all, ingress.IP)
	}
	return strings.Join(all, " ")
}

func wantIPs(t *testing.T, p *Provider, s *corev1.Service, want string) {
	t.Helper()
	if got, err := ensureBalancer(t, p, s); err != nil || got != want {
		t.Errorf("%s: got %q, %v; want %q", s.Name, got, err, want)
	}
}

func wantError(t *testing.T, p *Provider, s *corev1.Service, want string, again bool) {
	t.Helper()
	_, err := ensureBalancer(t, p, s)
	if err == nil || err.Error() != want {
		t.Errorf("%s: got %v\nwant %s", s.Name, err, want)
	}
	retry := new(cloudproviderapi.RetryError)
	if got := errors.As(err, &retry); got != again {
		t.Errorf("%s: retried soon: %v", s.Name, got)
	}
}

func releaseService(t *testing.T, p *Provider, s *corev1.Service) {
	t.Helper()
	if err := p.balancer.EnsureLoadBalancerDeleted(t.Context(), clusterName, s); err != nil {
		t.Fatal(err)
	}
	if _, exists, err := p.balancer.GetLoadBalancer(t.Context(), clusterName, s); exists || err != nil {
		t.Errorf("%s: released, and still exists: %v, %v", s.Name, exists, err)
	}
}

func TestLowestFreeAddress(t *testing.T) {
	p := newProvider(t, "")
	wantIPs(t, p, newService("a"), "203.0.113.1")
	wantIPs(t, p, newService("b"), "203.0.113.2")
	wantIPs(t, p, newService("a"), "203.0.113.1")
	releaseService(t, p, newService("a"))
	releaseService(t, p, newService("a"))
	wantIPs(t, p, newService("c"), "203.0.113.1")
}

func TestRangeExhaustion(t *testing.T) {
	p := newProvider(t, "203.0.113.0/30,203.0.113.8/32")
	wantIPs(t, p, newService("a"), "203.0.113.1")
	wantIPs(t, p, newService("b"), "203.0.113.2")
	wantIPs(t, p, newService("c"), "203.0.113.8")
	wantError(t, p, newService("d"), "all addresses of 203.0.113.0/30, 203.0.113.8/32 are in use: "+
		"delete a Service of type LoadBalancer, or give --load-balancer-range a larger one", true)
	releaseService(t, p, newService("b"))
	wantIPs(t, p, newService("d"), "203.0.113.2")
}

func TestRequestedAddress(t *testing.T) {
	p := newProvider(t, "203.0.113.0/24")
	wantIPs(t, p, newService("a", withIP("203.0.113.7")), "203.0.113.7")
	wantIPs(t, p, newService("a"), "203.0.113.7")
	wantIPs(t, p, newService("a", withIP("203.0.113.8")), "203.0.113.8")
	wantIPs(t, p, newService("b", withAnnotation("203.0.113.7"), withIP("203.0.113.9")), "203.0.113.7")
	wantIPs(t, p, newService("c", withAnnotation(" ::ffff:203.0.113.9 ")), "203.0.113.9")

	wantError(t, p, newService("d", withIP("203.0.113.8")), "203.0.113.8 is not free: Service default/a has it", true)
	wantError(t, p, newService("d", withIP("203.0.113.0")),
		"203.0.113.0 is not in the range for load balancers: choose an address of 203.0.113.0/24", false)
	wantError(t, p, newService("d", withIP("192.168.1.1")),
		"192.168.1.1 is not in the range for load balancers: choose an address of 203.0.113.0/24", false)
	wantError(t, p, newService("d", withIP("here")), `spec.loadBalancerIP: "here" is not an IP address`, false)
	wantError(t, p, newService("d", withAnnotation("203.0.113.1,203.0.113.2")),
		`annotation ctrlplane.local/load-balancer-ips: "203.0.113.1,203.0.113.2" has two IPv4 addresses: give one`, false)
	wantError(t, p, newService("d", withIP("2001:db8::1")), "2001:db8::1 is an IPv6 address, and the Service is for IPv4", false)

	wantError(t, p, newService("a", withIP("203.0.113.7")), "203.0.113.7 is not free: Service default/b has it", true)
	wantIPs(t, p, newService("a"), "203.0.113.8") // keeps its address
	releaseService(t, p, newService("a"))
	wantIPs(t, p, newService("d", withIP("203.0.113.8")), "203.0.113.8")
}

func TestIPFamilies(t *testing.T) {
	v4, v6 := corev1.IPv4Protocol, corev1.IPv6Protocol
	p := newProvider(t, "")
	wantIPs(t, p, newService("a", withFamilies(v4, v6)), "203.0.113.1 2001:db8:1b::1")
	wantIPs(t, p, newService("b", withFamilies(v6)), "2001:db8:1b::2")
	wantIPs(t, p, newService("c", withFamilies(v6, v4), withAnnotation("203.0.113.5,2001:db8:1b::a")), "2001:db8:1b::a 203.0.113.5")
	wantIPs(t, p, newService("d", withFamilies()), "203.0.113.2")
	wantIPs(t, p, newService("a", withFamilies(v4)), "203.0.113.1") // no longer dual stack
	wantIPs(t, p, newService("e", withFamilies(v6)), "2001:db8:1b::1")

	p = newProvider(t, "203.0.113.0/24")
	wantIPs(t, p, newService("a", withFamilies(v6, v4)), "203.0.113.1")
	wantError(t, p, newService("b", withFamilies(v6)), "no range has IPv6 addresses: add one to --load-balancer-range", false)
}

// A Service that cannot get an address of one family must not keep one of the other.
func TestRangeExhaustionOfOneFamily(t *testing.T) {
	p := newProvider(t, "203.0.113.0/24,2001:db8::7/128")
	both := withFamilies(corev1.IPv4Protocol, corev1.IPv6Protocol)
	wantIPs(t, p, newService("a", both), "203.0.113.1 2001:db8::7")
	wantError(t, p, newService("b", both), "all addresses of 2001:db8::7/128 are in use: "+
		"delete a Service of type LoadBalancer, or give --load-balancer-range a larger one", true)
	wantIPs(t, p, newService("c"), "203.0.113.2")
}

func TestAdoptAddressesOfEarlierRun(t *testing.T) {
	old := func(s *corev1.Service) { s.CreationTimestamp = metav1.NewTime(time.Unix(1, 0)) }
	young := func(s *corev1.Service) { s.CreationTimestamp = metav1.NewTime(time.Unix(2, 0)) }
	other, class := "203.0.113.9", "example.com/other"
	p := newProvider(t, "203.0.113.0/24")
	wantIPs(t, p, newService("of an earlier run"), "203.0.113.1")
	p.balancer.adoptAddresses([]*corev1.Service{
		newService("a", withStatusIPs("203.0.113.2")),
		newService("younger", withStatusIPs("203.0.113.4"), young),
		newService("older", withStatusIPs("203.0.113.4"), old),
		newService("outside", withStatusIPs("192.168.1.1")),
		newService("by name", func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "example.com"}}
		}),
		newService("of another class", withStatusIPs(other), func(s *corev1.Service) { s.Spec.LoadBalancerClass = &class }),
		newService("no longer balanced", withStatusIPs("203.0.113.3"), func(s *corev1.Service) {
			s.Spec.Type = corev1.ServiceTypeClusterIP
			s.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"}
		}),
	})
	wantIPs(t, p, newService("older"), "203.0.113.4")
	wantIPs(t, p, newService("a"), "203.0.113.2")
	wantIPs(t, p, newService("new"), "203.0.113.1")
	wantIPs(t, p, newService("younger"), "203.0.113.5")
	wantIPs(t, p, newService("outside"), "203.0.113.6")
	wantIPs(t, p, newService("free", withIP(other)), other)
	wantError(t, p, newService("taken", withIP("203.0.113.3")), "203.0.113.3 is not free: Service default/no longer balanced has it", true)
	releaseService(t, p, newService("no longer balanced"))
	wantIPs(t, p, newService("taken", withIP("203.0.113.3")), "203.0.113.3")
}

func TestStatusHasServerDefaults(t *testing.T) {
	p := newProvider(t, "")
	got, err := p.balancer.EnsureLoadBalancer(t.Context(), clusterName, newService("a"), nil)
	if err != nil {
		t.Fatal(err)
	}
	vip := corev1.LoadBalancerIPModeVIP
	want := &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "203.0.113.1", IPMode: &vip}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	same, exists, err := p.balancer.GetLoadBalancer(t.Context(), clusterName, newService("a"))
	if diff := cmp.Diff(want, same); diff != "" || !exists || err != nil {
		t.Error(exists, err, diff)
	}
}

func TestAddressesAreUnique(t *testing.T) {
	p := newProvider(t, "203.0.113.0/25")
	var wg sync.WaitGroup
	got := make([]string, 126)
	for i := range got {
		wg.Go(func() {
			s, err := p.balancer.EnsureLoadBalancer(t.Context(), clusterName, newService(fmt.Sprint(i)), nil)
			if err != nil {
				t.Error(err)
				return
			}
			got[i] = joinIPs(s)
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, ip := range got {
		if seen[ip] {
			t.Errorf("%s was assigned twice", ip)
		}
		seen[ip] = true
	}
}
