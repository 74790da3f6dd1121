package instrument

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A report names no more keys than the control plane takes, which refuses it otherwise.
func TestNamedKeys(t *testing.T) {
	k, e := newKeys(&numbers{}), &eventRun{id: 1}
	for i := range 300 {
		for name, after := range map[string]time.Duration{"now": 0, "later": time.Hour} {
			k.add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: name, Name: fmt.Sprint(i)}}, work{event: e}, after, false)
		}
	}
	var r controllerReport
	k.addTo(&r)
	if len(e.adds) != 256 || len(e.later) != 64 || len(r.Waiting) != 10 || r.Adds != 300 || r.Delayed != 300 {
		t.Errorf("%d adds, %d later, %d waiting, %+v", len(e.adds), len(e.later), len(r.Waiting), r)
	}
}

func requestFor(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}}
}

// A key that is added after the queue has given it to a worker, and before the worker has noted
// that, is queued again: no queue gives out more keys than were added.
func TestAddWhileTaken(t *testing.T) {
	k, c, key := newKeys(&numbers{}), &controller{name: "site"}, requestFor("shop")
	k.add(key, work{}, 0, false)
	k.add(key, work{}, 0, false) // the queue has given out the key
	for range 2 {
		k.take(c, key)
		k.end(key)
	}
	var r controllerReport
	if k.addTo(&r); r.Adds != 2 || r.Gets != 2 || r.Done != 2 {
		t.Errorf("%d adds, %d gets, %d done", r.Adds, r.Gets, r.Done)
	}
}
