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
	k, e := newKeys(), &eventRun{id: 1}
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
