package cloud

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
)

// testCluster is a fake API server and the controllers that run on it.
type testCluster struct {
	t      *testing.T
	client *fake.Clientset
	events chan *corev1.Event
}

func newTestCluster(t *testing.T, objects ...runtime.Object) *testCluster {
	c := &testCluster{t, fake.NewClientset(objects...), make(chan *corev1.Event, 1000)}
	c.client.PrependReactor("create", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
		e := a.(clienttesting.CreateAction).GetObject().(*corev1.Event)
		c.events <- e
		return true, e, nil
	})
	return c
}

// testEnvironment returns an Environment whose controllers use client.
func testEnvironment(client kubernetes.Interface) Environment {
	return Environment{
		Informers: informers.NewSharedInformerFactory(client, 0),
		Client:    func(string) (kubernetes.Interface, error) { return client, nil },
		Metrics:   controllersmetrics.NewControllerManagerMetrics("cloud"),
	}
}

// runController runs a controller until stop is called or the test ends.
func (c *testCluster) runController(p *Provider, name string) (stop func()) {
	c.t.Helper()
	e := testEnvironment(c.client)
	for _, l := range p.Controllers() {
		if l.Name != name {
			continue
		}
		run, err := l.Build(e)
		if err != nil {
			c.t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(c.t.Context())
		e.Informers.StartWithContext(ctx)
		e.Informers.WaitForCacheSync(ctx.Done())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			run(ctx)
		}()
		stop = func() {
			cancel()
			<-ended
			e.Informers.Shutdown()
		}
		c.t.Cleanup(stop)
		return stop
	}
	c.t.Fatalf("no controller %s", name)
	return nil
}

// waitUntil waits for an object of a watch that meets cond.
func waitUntil[T runtime.Object](c *testCluster, w watch.Interface, err error, cond func(T) bool) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	defer w.Stop()
	timeout := time.After(time.Minute)
	for {
		select {
		case e := <-w.ResultChan():
			if obj, ok := e.Object.(T); ok && cond(obj) {
				return
			}
		case <-timeout:
			c.t.Fatal("not within a minute")
		}
	}
}

func (c *testCluster) createService(s *corev1.Service) {
	c.t.Helper()
	if _, err := c.client.CoreV1().Services(s.Namespace).Create(c.t.Context(), s, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// updateService updates a Service.
func (c *testCluster) updateService(name string, f func(*corev1.Service)) {
	c.t.Helper()
	services := c.client.CoreV1().Services("default")
	s, err := services.Get(c.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	f(s)
	if _, err := services.Update(c.t.Context(), s, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// deleteService does what the API server does with a Service that has a finalizer.
func (c *testCluster) deleteService(name string) {
	now := metav1.Now()
	c.updateService(name, func(s *corev1.Service) { s.DeletionTimestamp = &now })
}

// waitForIP waits until a Service has an address, or has none and no finalizer.
func (c *testCluster) waitForIP(name, ip string, then func()) {
	c.t.Helper()
	w, err := c.client.CoreV1().Services("default").Watch(c.t.Context(), metav1.ListOptions{})
	then()
	waitUntil(c, w, err, func(s *corev1.Service) bool {
		return s.Name == name && joinIPs(&s.Status.LoadBalancer) == ip && (len(s.Finalizers) == 0) == (ip == "")
	})
}

// waitForEvent waits for an event about an object.
func (c *testCluster) waitForEvent(name, reason string) *corev1.Event {
	c.t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case e := <-c.events:
			if e.InvolvedObject.Name == name && e.Reason == reason {
				return e
			}
		case <-timeout:
			c.t.Fatalf("no event %s of %s within a minute", reason, name)
		}
	}
}
