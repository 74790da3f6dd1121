package instrument

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// newSync returns what handles an event, with the add of its key and the sync, without what the
// handler and the reconciler do.
func newSync(b testing.TB, state int32) func() {
	r := &reporter{wake: make(chan struct{}, 1)}
	r.state.Store(state)
	c := &controller{name: "site", reporter: r, keys: newKeys(&r.numbers)}
	q := wrapQueue(c, func(_ string, l rateLimiter) workQueue { return workqueue.NewTypedRateLimitingQueue(l) })("site", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	b.Cleanup(q.ShutDown)
	h := &observedHandler{toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) { q.Add(benchKey) }}, eventSource{controller: c, resource: "configmaps", kind: "ConfigMap"}}
	return func() { oneSync(h, q) }
}

// newPlainSync returns the same without this module.
func newPlainSync(b testing.TB) func() {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	b.Cleanup(q.ShutDown)
	h := toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) { q.Add(benchKey) }}
	return func() { oneSync(h, q) }
}

var benchKey = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "shop"}}

func oneSync(h toolscache.ResourceEventHandler, q workQueue) {
	shop := &corev1.ConfigMap{}
	shop.Name, shop.Namespace = "shop", "ns"
	h.OnAdd(shop, false)
	taken, _ := q.Get()
	q.Done(taken)
}

// BenchmarkSync is an event and its sync: off is with another API server, none without this
// module.
func BenchmarkSync(b *testing.B) {
	for name, sync := range map[string]func(testing.TB) func(){
		"on":   func(b testing.TB) func() { return newSync(b, on) },
		"off":  func(b testing.TB) func() { return newSync(b, off) },
		"none": newPlainSync,
	} {
		b.Run(name, func(b *testing.B) {
			do := sync(b)
			for b.Loop() {
				do()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/sync")
		})
	}
}

// With another API server, nothing is kept of an event and its sync.
func TestOtherServerCostsNoMemory(t *testing.T) {
	without, with := testing.AllocsPerRun(1000, newPlainSync(t)), testing.AllocsPerRun(1000, newSync(t, off))
	if with > without {
		t.Errorf("%v allocations, %v without the module", with, without)
	}
}

// BenchmarkReport is what a report takes the lock for that handlers and workers need, with many delayed keys.
func BenchmarkReport(b *testing.B) {
	k := newKeys(&numbers{})
	for i := range 100_000 {
		k.add(requestFor(fmt.Sprint(i)), work{}, time.Hour, false)
	}
	for b.Loop() {
		k.addTo(&controllerReport{})
	}
}
