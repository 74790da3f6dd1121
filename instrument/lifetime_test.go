package instrument

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// lastState returns the state of the only controller in the last report. The caller holds the
// lock.
func (p *plane) lastState() string {
	if n := len(p.reports); n > 0 && len(p.reports[n-1].Controllers) == 1 {
		return p.reports[n-1].Controllers[0].State
	}
	return "not reported"
}

// ofEitherManager runs a test with what Manager returns and with what it was given: a program may
// start either.
func ofEitherManager(t *testing.T, test func(t *testing.T, started func(*operator) manager.Manager)) {
	t.Run("observed", func(t *testing.T) { test(t, func(o *operator) manager.Manager { return o.Manager }) })
	t.Run("inner", func(t *testing.T) {
		test(t, func(o *operator) manager.Manager { return o.Manager.(*observedManager).Manager })
	})
}

// Reports begin before the manager waits for caches that were asked for before its start, as those
// of an index; workers start once their own caches are filled.
func TestStateBeforeTheFirstKey(t *testing.T) { ofEitherManager(t, testStateBeforeTheFirstKey) }

func testStateBeforeTheFirstKey(t *testing.T, started func(*operator) manager.Manager) {
	p := startPlane(t, http.StatusOK)
	o := newOperator(t, p.url)
	o.informer.FakeInformer = controllertest.NewFakeInformer()
	o.addController(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil })
	o.run(started(o))
	p.await("the manager waits for a cache", func() bool { return p.lastState() == stateStarting })
	close(o.filled)
	<-o.informer.handlers
	sent := p.countReports()
	p.await("the workers wait for the cache", func() bool { return len(p.reports) > sent && p.lastState() == stateStarting })
	o.informer.Synced()
	p.await("the workers have started", func() bool { return p.lastState() == "" })
}

func (p *plane) countReports() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.reports)
}

// heldLock is the lock of a leader in another process.
type heldLock struct{ resourcelock.Interface }

func (heldLock) Identity() string { return "this" }
func (heldLock) Describe() string { return "ns/held" }
func (heldLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return nil, nil, errors.New("another process has it")
}

// A controller that the manager has not started because another process is the leader is on standby.
func TestStandby(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	o := newOperator(t, p.url, func(options *ctrl.Options) {
		options.LeaderElection, options.LeaderElectionResourceLockInterface = true, heldLock{}
	})
	o.addController(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil })
	o.start(0)
	p.await("the process waits for the lease", func() bool { return p.lastState() == stateStandby })
}

// A sync that goes on while the manager stops is reported until it has ended, and the end after it.
func TestSyncDuringStop(t *testing.T) { ofEitherManager(t, testSyncDuringStop) }

func testSyncDuringStop(t *testing.T, started func(*operator) manager.Manager) {
	p := startPlane(t, http.StatusOK)
	o := newOperator(t, p.url)
	release := make(chan struct{})
	o.addController(func(context.Context, ctrl.Request) (ctrl.Result, error) { <-release; return ctrl.Result{}, nil })
	close(o.filled)
	stop := o.run(started(o))
	<-o.informer.handlers
	o.informer.Add(configMap("shop", "1"))
	p.await("the sync has begun", func() bool {
		return slices.ContainsFunc(p.records(), func(r record) bool { return r.Began != nil })
	})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	p.await("the process is stopping", func() bool { return p.lastState() == stateStopping })
	close(release)
	<-stopped
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
	no := false
	o := newOperator(t, p.url, func(options *ctrl.Options) { options.Controller.RecoverPanic = &no })
	o.addController(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil })
	if err := o.reporter().send(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	c := o.reporter().controllers[0]
	defer o.reporter().start(t.Context())()
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

// A panic from which controller-runtime recovers waits for nothing: its sync is reported when it has ended.
func TestRecoveredPanicDoesNotWait(t *testing.T) {
	for name, recovers := range map[string]*bool{"by default": nil, "explicitly": new(true)} {
		o := newOperator(t, startPlane(t, http.StatusOK).url, func(options *ctrl.Options) { options.Controller.RecoverPanic = recovers })
		o.addController(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil })
		r := o.reporter()
		r.flushTimeout = time.Millisecond
		c := r.controllers[0]
		func() {
			defer func() { _ = recover() }()
			defer c.keys.take(c, requestFor("pp")).reportPanic()
			panic("boom")
		}()
		if r.flushed != nil || r.isAway() {
			t.Errorf("%s: the panic waits for a report", name)
		}
	}
}

// A panic waits for what was to be reported before it, and not for what comes after it.
func TestFlushUpTo(t *testing.T) {
	answers := []int{http.StatusOK, http.StatusOK, http.StatusServiceUnavailable}
	asked := 0
	server := roundTripper(func(*http.Request) *http.Response {
		asked++
		return &http.Response{StatusCode: answers[asked-1], Header: http.Header{answerHeader: {"1"}}, Body: http.NoBody}
	})
	r, err := newReporter(&rest.Config{Host: "x"}, &http.Client{Transport: server}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	r.flushTimeout = time.Hour
	r.append(record{Event: &eventRecord{ID: 1}})
	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		r.flush()
	}()
	awaitTrue(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.flushed != nil
	})
	for range 2 * maxSent {
		r.append(record{Event: &eventRecord{ID: 2}})
	}
	if err := r.send(t.Context(), false); err == nil || asked != len(answers) {
		t.Fatalf("%v after %d answers", err, asked)
	}
	select {
	case <-flushed:
	case <-time.After(20 * time.Second):
		t.Error("it waits for records that were appended later")
	}
}

// A manager that ends does not wait for a control plane of which it is known that it does not answer.
func TestEndWhileAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, r, end := startSilenced(t)
		time.Sleep(10 * time.Second)
		if !r.isAway() {
			t.Error("it is not known that the control plane does not answer")
		}
		for r.unanswered.Load() && server.asking.Load() { // the next attempt fails, too
			time.Sleep(100 * time.Millisecond)
		}
		began, asked := time.Now(), server.asked.Load()
		end()
		if took := time.Since(began); took > 0 || server.asked.Load() != asked {
			t.Errorf("the end takes %v, with %d reports", took, server.asked.Load()-asked)
		}
	})
}

// A manager that ends while a report is sent, which that interrupts, sends the last one.
func TestEndDuringReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _, end := startSilenced(t)
		time.Sleep(100 * time.Millisecond)
		if !server.asking.Load() {
			t.Fatal("no report is being sent")
		}
		server.silent.Store(false)
		asked := server.asked.Load()
		if end(); server.asked.Load() == asked {
			t.Error("the last report is not sent")
		}
	})
}

// startSilenced starts a reporter whose server stops answering after the first reports.
func startSilenced(t *testing.T) (*silentServer, *reporter, func()) {
	t.Helper()
	server := &silentServer{}
	r, err := newReporter(&rest.Config{Host: "x"}, &http.Client{Transport: server}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	end := r.start(t.Context())
	time.Sleep(time.Second) // of a synctest bubble
	server.silent.Store(true)
	r.wakeUp()
	return server, r, end
}

// silentServer takes reports, or does not answer.
type silentServer struct {
	silent, asking atomic.Bool
	asked          atomic.Int64
}

func (s *silentServer) RoundTrip(req *http.Request) (*http.Response, error) {
	s.asked.Add(1)
	if s.silent.Load() {
		s.asking.Store(true)
		defer s.asking.Store(false)
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{answerHeader: {"1"}}, Body: http.NoBody}, nil
}

// Reports go on as soon as the server answers a request of the operator.
func TestReportOnceTheServerAnswersTheOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &silentServer{}
		r, err := newReporter(&rest.Config{Host: "x"}, &http.Client{Transport: server}, logr.Discard())
		if err != nil {
			t.Fatal(err)
		}
		end := r.start(t.Context())
		defer end()
		time.Sleep(time.Second)
		server.silent.Store(true)
		r.wakeUp()
		time.Sleep(time.Minute)
		for server.asking.Load() {
			time.Sleep(100 * time.Millisecond)
		}
		server.silent.Store(false)
		time.Sleep(100 * time.Millisecond) // it waits for maxBackoff
		asked := server.asked.Load()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/api", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&transport{next: server, reporter: r}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if server.asked.Load() < asked+2 || r.isAway() {
			t.Errorf("%d requests, want that of the operator and a report", server.asked.Load()-asked)
		}
	})
}

// A panic does not wait for a control plane that does not answer: after the first one, none does.
func TestPanicsWhileAway(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	r := newOperator(t, p.url).reporter()
	r.flushTimeout = 250 * time.Millisecond
	if err := r.send(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	for range 4000 { // nothing is sent: they would wait for 1000 s
		r.flush()
	}
	if !r.run(t.Context()) || r.away || r.flushed != nil {
		t.Error("the control plane has answered")
	}
	p.setStatus(http.StatusServiceUnavailable)
	ctx, stop := context.WithCancel(t.Context())
	sent := make(chan bool)
	go func() { sent <- r.run(ctx) }()
	awaitTrue(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.away
	})
	r.flush()
	stop()
	if <-sent || r.flushed != nil {
		t.Error("a panic waits for a report that the server does not take")
	}
}
