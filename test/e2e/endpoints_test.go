package e2e_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// endpointAddresses are the addresses in Endpoints or in EndpointSlices.
type endpointAddresses struct{ Ready, NotReady []string }

func newService(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Selector: webLabels,
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
}

func listEndpointSlices(ctx context.Context, ns, service string) (*discoveryv1.EndpointSliceList, error) {
	return controlPlane.client.DiscoveryV1().EndpointSlices(ns).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
}

// awaitAddresses waits until Endpoints and EndpointSlices both have the addresses.
func awaitAddresses(t *testing.T, ns string, want endpointAddresses) {
	t.Helper()
	slices.Sort(want.Ready)
	slices.Sort(want.NotReady)
	is := func(got endpointAddresses) bool {
		slices.Sort(got.Ready)
		slices.Sort(got.NotReady)
		return cmp.Equal(want, got)
	}

	await(t, "Endpoints "+toYAML(want), func(ctx context.Context) (a endpointAddresses, err error) {
		e, err := controlPlane.client.CoreV1().Endpoints(ns).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return a, err
		}
		for _, subset := range e.Subsets {
			for _, addr := range subset.Addresses {
				a.Ready = append(a.Ready, addr.TargetRef.Name+"/"+addr.IP)
			}
			for _, addr := range subset.NotReadyAddresses {
				a.NotReady = append(a.NotReady, addr.TargetRef.Name+"/"+addr.IP)
			}
		}
		return a, nil
	}, is)
	await(t, "EndpointSlices "+toYAML(want), func(ctx context.Context) (a endpointAddresses, err error) {
		l, err := listEndpointSlices(ctx, ns, "web")
		if err != nil {
			return a, err
		}
		for _, s := range l.Items {
			for _, e := range s.Endpoints {
				name := e.TargetRef.Name + "/" + e.Addresses[0]
				if *e.Conditions.Ready {
					a.Ready = append(a.Ready, name)
				} else {
					a.NotReady = append(a.NotReady, name)
				}
			}
		}
		return a, nil
	}, is)
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	service := createObject(t, controlPlane.client.CoreV1().Services(ns), newService("web"))
	awaitAddresses(t, ns, endpointAddresses{})

	n := startFakeNode(t, nil)
	for _, name := range []string{"a", "b", "waiting", "other"} {
		createBoundPod(t, ns, name, n.name)
	}
	updateObject(t, pods(ns), "other", func(p *corev1.Pod) { p.Labels = nil })
	updateObjectStatus(t, pods(ns), "waiting", func(p *corev1.Pod) { p.Status.Conditions = nil })
	address := func(name string) string { return name + "/" + getObject(t, pods(ns), name).Status.PodIP }
	a, b, waiting := address("a"), address("b"), address("waiting")
	awaitAddresses(t, ns, endpointAddresses{Ready: []string{a, b}, NotReady: []string{waiting}})

	markReady(t, *getObject(t, pods(ns), "waiting"))
	waiting = address("waiting")
	awaitAddresses(t, ns, endpointAddresses{Ready: []string{a, b, waiting}})
	deleteObject(t, pods(ns), "a")
	awaitAddresses(t, ns, endpointAddresses{Ready: []string{b, waiting}})
	updateObject(t, pods(ns), "b", func(p *corev1.Pod) { p.Labels = nil })
	awaitAddresses(t, ns, endpointAddresses{Ready: []string{waiting}})

	l, err := listEndpointSlices(t.Context(), ns, "web")
	if err != nil || len(l.Items) != 1 {
		t.Fatalf("%d slices, %v", len(l.Items), err)
	}
	s := l.Items[0]
	requireController(t, &s, "Service", "web")
	if p := s.Ports[0]; *p.Name != "http" || *p.Port != 8080 || s.AddressType != discoveryv1.AddressTypeIPv4 ||
		s.Labels[discoveryv1.LabelManagedBy] != "endpointslice-controller.k8s.io" {
		t.Errorf("slice of type %s, ports %s, labels %v", s.AddressType, toYAML(s.Ports), s.Labels)
	}
	if ip := service.Spec.ClusterIP; ip == "" || ip == corev1.ClusterIPNone {
		t.Errorf("the service has cluster IP %q", ip)
	}

	deleteObject(t, controlPlane.client.CoreV1().Services(ns), "web")
	awaitGone(t, "Endpoints", getByName(controlPlane.client.CoreV1().Endpoints(ns), "web"))
	await(t, "end of the slices", func(ctx context.Context) (*discoveryv1.EndpointSliceList, error) {
		return listEndpointSlices(ctx, ns, "web")
	},
		func(l *discoveryv1.EndpointSliceList) bool { return len(l.Items) == 0 })
}

// A terminating Pod is serving but not ready.
func TestEndpointSliceTerminating(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	createObject(t, controlPlane.client.CoreV1().Services(ns), newService("web"))
	n := startFakeNode(t, nil)
	p := createBoundPod(t, ns, "a", n.name)
	endpoint := func(what string, ok func(discoveryv1.Endpoint) bool) {
		t.Helper()
		await(t, what, func(ctx context.Context) (*discoveryv1.EndpointSliceList, error) {
			return listEndpointSlices(ctx, ns, "web")
		},
			func(l *discoveryv1.EndpointSliceList) bool {
				return len(l.Items) == 1 && len(l.Items[0].Endpoints) == 1 && ok(l.Items[0].Endpoints[0])
			})
	}
	endpoint("ready endpoint with its node and zone", func(e discoveryv1.Endpoint) bool {
		return *e.Conditions.Ready && *e.Conditions.Serving && !*e.Conditions.Terminating && *e.NodeName == n.name && *e.Zone == t.Name()
	})
	deleteObject(t, pods(ns), p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(300))})
	endpoint("terminating endpoint", func(e discoveryv1.Endpoint) bool {
		return !*e.Conditions.Ready && *e.Conditions.Serving && *e.Conditions.Terminating
	})
	deleteObject(t, pods(ns), p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	await(t, "slice without endpoints", func(ctx context.Context) (*discoveryv1.EndpointSliceList, error) {
		return listEndpointSlices(ctx, ns, "web")
	},
		func(l *discoveryv1.EndpointSliceList) bool {
			return len(l.Items) == 1 && len(l.Items[0].Endpoints) == 0
		})
}

// Endpoints that a user creates are mirrored to slices.
func TestEndpointSliceMirroring(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	service := newService("web")
	service.Spec.Selector = nil
	createObject(t, controlPlane.client.CoreV1().Services(ns), service)
	endpoints := controlPlane.client.CoreV1().Endpoints(ns)
	createObject(t, endpoints, &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Subsets: []corev1.EndpointSubset{{
			Addresses: []corev1.EndpointAddress{{IP: "192.0.2.1"}}, Ports: []corev1.EndpointPort{{Name: "http", Port: 8080}},
		}},
	})
	mirrored := func(want string) {
		t.Helper()
		await(t, "mirrored slice of "+want, func(ctx context.Context) (*discoveryv1.EndpointSliceList, error) {
			return listEndpointSlices(ctx, ns, "web")
		},
			func(l *discoveryv1.EndpointSliceList) bool {
				return len(l.Items) == 1 && l.Items[0].Labels[discoveryv1.LabelManagedBy] == "endpointslicemirroring-controller.k8s.io" &&
					len(l.Items[0].Endpoints) == 1 && l.Items[0].Endpoints[0].Addresses[0] == want
			})
	}
	mirrored("192.0.2.1")
	e := getObject(t, endpoints, "web")
	e.Subsets[0].Addresses[0].IP = "192.0.2.2"
	if _, err := endpoints.Update(t.Context(), e, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	mirrored("192.0.2.2")
}
