package instrument

import (
	"context"
	"net/http"
	"slices"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
)

// lastState returns the state of the only controller in the last report. The caller holds the
// lock.
func (p *plane) lastState() string {
	if n := len(p.reports); n > 0 && len(p.reports[n-1].Controllers) == 1 {
		return p.reports[n-1].Controllers[0].State
	}
	return "not reported"
}

// Workers start once the caches are filled, and a controller once the manager is the leader.
func TestStateBeforeTheFirstKey(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	o := newOperator(t, p.url)
	o.informer.FakeInformer = controllertest.NewFakeInformer()
	o.addController(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil })
	if err := o.reporter().send(t.Context(), false); err != nil || p.lastState() != stateStandby {
		t.Fatalf("%v, state %q", err, p.lastState())
	}
	o.start(1)
	p.await("the workers wait for the cache", func() bool { return p.lastState() == stateStarting })
	o.informer.Synced()
	p.await("the workers have started", func() bool { return p.lastState() == "" })
}

// A sync that goes on while the manager stops is reported until it has ended, and the end after it.
func TestSyncDuringStop(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	o := newOperator(t, p.url)
	release := make(chan struct{})
	o.addController(func(context.Context, ctrl.Request) (ctrl.Result, error) { <-release; return ctrl.Result{}, nil })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.Start(ctx) }()
	<-o.informer.handlers
	o.informer.Add(configMap("shop", "1"))
	p.await("the sync has begun", func() bool {
		return slices.ContainsFunc(p.records(), func(r record) bool { return r.Began != nil })
	})
	stop()
	p.await("the process is stopping", func() bool { return p.lastState() == stateStopping })
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := p.reports[len(p.reports)-1]; !last.Ended || len(p.ended("configmap")) != 1 {
		t.Errorf("%d syncs have ended; the last report: %+v", len(p.ended("configmap")), last)
	}
	for _, r := range p.reports[:len(p.reports)-1] {
		if r.Ended {
			t.Error("the end was reported before the sync had ended")
		}
	}
}

// When a panic leaves the reconciler, which may end the process, the control plane knows which sync
// it was.
func TestPanicIsPrecededByReport(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	o := newOperator(t, p.url)
	o.addController(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil })
	if err := o.reporter().send(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	c := o.reporter().controllers[0]
	go func() { _ = o.reporter().Start(t.Context()) }()
	s := c.keys.take(c, requestFor("pp"))
	o.reporter().append(record{Began: s.beganRecord()})
	func() {
		defer func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if recover() == nil || !slices.ContainsFunc(p.records(), func(r record) bool { return r.Began != nil && r.Began.Key == "ns/pp" }) {
				t.Errorf("reported: %+v", p.records())
			}
		}()
		defer s.reportPanic()
		panic("boom")
	}()
}
