package cloud

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/cloud-provider/names"
)

func TestServiceController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t)
		c.runController(newProvider(t, ""), names.ServiceLBController)
		c.waitForIP("a", "203.0.113.1", func() { c.createService(newService("a")) })
		c.waitForIP("b", "203.0.113.2", func() { c.createService(newService("b")) })
		c.waitForIP("a", "203.0.113.9", func() {
			c.updateService("a", func(s *corev1.Service) { s.Spec.LoadBalancerIP = "203.0.113.9" })
		})
		c.waitForIP("a", "", func() { c.deleteService("a") })
		c.waitForIP("c", "203.0.113.9", func() { c.createService(newService("c", withIP("203.0.113.9"))) })
		c.waitForIP("b", "", func() {
			c.updateService("b", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
		})
		c.waitForIP("d", "203.0.113.1", func() { c.createService(newService("d")) })
	})
}

func TestServiceControllerReportsExhaustion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t)
		c.runController(newProvider(t, "203.0.113.1/32"), names.ServiceLBController)
		c.waitForIP("a", "203.0.113.1", func() { c.createService(newService("a")) })
		c.createService(newService("b"))
		e := c.waitForEvent("b", "SyncLoadBalancerFailed")
		if !strings.Contains(e.Message, "all addresses of 203.0.113.1/32 are in use: delete a Service") || e.Type != corev1.EventTypeWarning {
			t.Errorf("got %s %s", e.Type, e.Message)
		}
		began := time.Now()
		c.waitForIP("b", "203.0.113.1", func() { c.deleteService("a") })
		if took := time.Since(began); took > retryInterval {
			t.Errorf("the address was free for %v", took)
		}
	})
}

func TestServiceControllerKeepsAddressesOverRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t)
		stop := c.runController(newProvider(t, ""), names.ServiceLBController)
		for _, s := range []struct{ name, ip string }{{"a", "203.0.113.1"}, {"z", "203.0.113.2"}} {
			c.waitForIP(s.name, s.ip, func() { c.createService(newService(s.name)) })
		}
		stop()
		if err := c.client.CoreV1().Services("default").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		c.createService(newService("m"))
		c.createService(newService("y", withIP("203.0.113.2")))
		c.waitForIP("m", "203.0.113.1", func() { c.runController(newProvider(t, ""), names.ServiceLBController) })
		z, err := c.client.CoreV1().Services("default").Get(t.Context(), "z", metav1.GetOptions{})
		if err != nil || joinIPs(&z.Status.LoadBalancer) != "203.0.113.2" {
			t.Errorf("z: %v, %v", z.Status, err)
		}
	})
}

func TestRouteController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode("a", "")
		n.Spec.PodCIDRs = []string{"10.244.3.0/24"}
		c, p := newTestCluster(t, n), newProvider(t, "")
		w, err := c.client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
		c.runController(p, names.NodeRouteController)
		waitUntil(c, w, err, func(n *corev1.Node) bool {
			return len(n.Status.Conditions) == 1 && n.Status.Conditions[0].Reason == "RouteCreated"
		})
		routes, err := p.routes.ListRoutes(t.Context(), clusterName)
		if err != nil || len(routes) != 1 || routes[0].Name != "a-10.244.3.0/24" {
			t.Fatalf("routes: %v, %v", routes, err)
		}
		if err := p.routes.DeleteRoute(t.Context(), clusterName, routes[0]); err != nil {
			t.Fatal(err)
		}
		if routes, err = p.routes.ListRoutes(t.Context(), clusterName); err != nil || len(routes) != 0 {
			t.Errorf("routes: %v, %v", routes, err)
		}
	})
}

func TestNodeController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := "node.cloudprovider.kubernetes.io/uninitialized"
		c := newTestCluster(t, newNode("a", "", waits), newNode("foreign", "kind://foreign", waits), newNode("by-hand", ""))
		w, err := c.client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
		c.runController(newProvider(t, ""), names.CloudNodeController)
		waitUntil(c, w, err, func(n *corev1.Node) bool {
			return n.Name == "a" && n.Spec.ProviderID == "ctrlplane://a" && len(n.Spec.Taints) == 0
		})
		synctest.Wait()
		n, err := c.client.CoreV1().Nodes().Get(t.Context(), "foreign", metav1.GetOptions{})
		if err != nil || len(n.Spec.Taints) != 1 {
			t.Errorf("the foreign node: %v, %v", n.Spec, err)
		}
	})
}

func TestLifecycleController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, markTerminated(newNode("gone", ProviderID("gone"))), newNode("there", ProviderID("there")), newNode("by-hand", ""))
		c.runController(newProvider(t, ""), names.CloudNodeLifecycleController)
		c.waitForEvent("gone", "DeletingNode")
		synctest.Wait()
		if _, err := c.client.CoreV1().Nodes().Get(t.Context(), "gone", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the node without a machine: %v", err)
		}
		list, err := c.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 2 {
			t.Errorf("nodes: %v, %v", list, err)
		}
	})
}

func TestControllers(t *testing.T) {
	got := map[string][]string{}
	for _, l := range newProvider(t, "").Controllers() {
		got[l.Name] = l.Aliases
	}
	want := map[string][]string{
		"cloud-node-controller":           {"cloud-node"},
		"cloud-node-lifecycle-controller": {"cloud-node-lifecycle"},
		"node-route-controller":           {"route"},
		"service-lb-controller":           {"service"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A controller whose context ends before it starts leaves no goroutine behind: a
// synctest bubble fails if a goroutine outlives it.
func TestControllersEndWhenCanceledBeforeStart(t *testing.T) {
	for _, l := range newProvider(t, "").Controllers() {
		t.Run(l.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run, err := l.Build(testEnvironment(fake.NewClientset()))
				if err != nil {
					t.Fatal(err)
				}
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				run(ended)
			})
		})
	}
}
