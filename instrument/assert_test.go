package instrument

import (
	"context"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	clienttransport "k8s.io/client-go/transport"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A reconciler that asserts that an informer is a SharedIndexInformer, as those of Cluster API do, gets
// one. The events of each handler that is added to it are reported.
func TestSharedIndexInformer(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	o := newOperator(t, p.url)
	got := make(chan cache.Informer, 1)
	o.addController(func(ctx context.Context, key ctrl.Request) (ctrl.Result, error) {
		informer, err := o.GetCache().GetInformer(ctx, &corev1.ConfigMap{})
		if key.Name == "shop" {
			got <- informer
		}
		return ctrl.Result{}, err
	})
	o.start(1)
	o.informer.Add(configMap("shop", "1"))
	informer := <-got
	shared, ok := informer.(toolscache.SharedIndexInformer)
	if !ok {
		t.Fatalf("the informer is %T, want a SharedIndexInformer", informer)
	}
	for _, add := range []func(toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error){
		shared.AddEventHandler,
		func(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
			return shared.AddEventHandlerWithResyncPeriod(h, 0)
		},
		func(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
			return shared.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{})
		},
	} {
		if _, err := add(toolscache.ResourceEventHandlerFuncs{}); err != nil {
			t.Fatal(err)
		}
	}
	o.informer.Add(configMap("late", "2"))
	p.await("the events of the controller's handler and of three others", func() bool {
		events := 0
		for _, r := range p.records() {
			if r.Event != nil && r.Event.Name == "late" {
				events++
			}
		}
		return events == 4
	})
}

// An informer of a cache of several namespaces is not a SharedIndexInformer, and does not become one.
func TestInformerOfNamespaces(t *testing.T) {
	c := &observedCache{reporter: &reporter{}, mapper: newMapper()}
	ctx := context.WithValue(t.Context(), controllerKey{}, &controller{})
	informer := c.observe(ctx, struct{ cache.Informer }{}, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if _, ok := informer.(*observedInformer); !ok {
		t.Errorf("the informer is %T, want an observedInformer", informer)
	}
}

// Handlers assert that a queue is a PriorityQueue: it is one if the controller's is.
func TestPriorityQueue(t *testing.T) {
	r := &reporter{}
	c := &controller{reporter: r, keys: newKeys(&r.numbers)}
	for want, create := range map[bool]newQueue{
		true: func(name string, _ rateLimiter) workQueue { return priorityqueue.New[reconcile.Request](name) },
		false: func(_ string, limiter rateLimiter) workQueue {
			return workqueue.NewTypedRateLimitingQueue(limiter)
		},
	} {
		q := wrapQueue(c, create)("site", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer q.ShutDown()
		if _, got := q.(priorityqueue.PriorityQueue[reconcile.Request]); got != want {
			t.Errorf("%T is a PriorityQueue: %v, want %v", q, got, want)
		}
	}
}

// idleCloser is a transport whose idle connections can be closed.
type idleCloser struct {
	http.RoundTripper
	closed int
}

// CloseIdleConnections is what http.Client and client-go look for.
func (c *idleCloser) CloseIdleConnections() { c.closed++ }

// The idle connections of a manager's HTTP client can be closed.
func TestCloseIdleConnections(t *testing.T) {
	var inner idleCloser
	for _, next := range []http.RoundTripper{&inner, clienttransport.NewUserAgentRoundTripper("shop/v1", &inner)} {
		inner.closed = 0
		(&http.Client{Transport: &transport{next: next}}).CloseIdleConnections()
		if inner.closed != 1 {
			t.Errorf("%T: closed %d times", next, inner.closed)
		}
	}
}
