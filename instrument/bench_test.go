package instrument

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// BenchmarkSync is an event, the add of its key, and the sync, without what the handler and
// the reconciler do; off is the same with another API server.
func BenchmarkSync(b *testing.B) {
	for name, state := range map[string]int32{"on": on, "off": off} {
		b.Run(name, func(b *testing.B) {
			r := &reporter{wake: make(chan struct{}, 1)}
			r.state.Store(state)
			c := &controller{name: "site", reporter: r, keys: newKeys()}
			q := wrapQueue(c, func(_ string, l rateLimiter) workQueue { return workqueue.NewTypedRateLimitingQueue(l) })("site", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer q.ShutDown()
			key := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "shop"}}
			h := &observedHandler{toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) { q.Add(key) }}, eventSource{controller: c, resource: "configmaps", kind: "ConfigMap"}}
			shop := &corev1.ConfigMap{}
			shop.Name, shop.Namespace = "shop", "ns"
			for b.Loop() {
				h.OnAdd(shop, false)
				taken, _ := q.Get()
				q.Done(taken)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/sync")
		})
	}
}
