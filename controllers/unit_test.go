package controllers

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"

	"github.com/ctrlplane/ctrlplane/controllers/queues"
	"github.com/ctrlplane/ctrlplane/observe"
)

func newUnit() *unit {
	return &unit{name: "test-controller", log: slog.New(slog.DiscardHandler), state: Off}
}

func constructorOf(run func(context.Context)) constructFunc {
	return func(context.Context) (app.Controller, error) { return funcController{"test-controller", run}, nil }
}

func TestUnitLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnit()
		if err := u.build(t.Context(), &informerView{}, constructorOf(func(ctx context.Context) { <-ctx.Done() })); err != nil {
			t.Fatal(err)
		}
		if err := u.checkReady(nil); err == nil {
			t.Error("ready before it was started")
		}
		u.start()
		synctest.Wait()
		if got := u.status().State; got != Running {
			t.Errorf("after run: %s", got)
		}
		if err := u.checkReady(nil); err != nil {
			t.Errorf("running, but not ready: %v", err)
		}
		if err := u.stop(); err != nil {
			t.Error(err)
		}
		if got := u.status(); got.State != Off || got.Reason != "stopped" {
			t.Errorf("after stop: %+v", got)
		}
		if err := u.stop(); err != nil {
			t.Errorf("second stop: %v", err)
		}
	})
}

// The keys in the queue of a stopped controller do not appear in the queue of its
// next run, also if the state changes are not recorded.
func TestStoppedUnitLeavesNoQueue(t *testing.T) {
	o := observe.New(observe.Options{Queues: queues.All(), Process: func() observe.Process { return observe.Process{} }})
	defer o.Close()
	u := newUnit()
	u.recorder = o.Recorder(u.name)
	for range 2 {
		construct := func(ctx context.Context) (app.Controller, error) {
			q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "of-test"})
			q.Add("a key that is not processed")
			return constructorOf(func(ctx context.Context) { <-ctx.Done(); q.ShutDown() })(ctx)
		}
		if err := u.build(t.Context(), &informerView{}, construct); err != nil {
			t.Fatal(err)
		}
		u.start()
		s, err := o.Snapshot(t.Context())
		if err != nil || len(s.Queues) != 1 || s.Queues[0].Depth != 1 {
			t.Fatalf("%v: %+v", err, s.Queues)
		}
		u.muteEvents(Running)
		if err := u.stop(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnitBuildFails(t *testing.T) {
	for name, construct := range map[string]constructFunc{
		"error": func(context.Context) (app.Controller, error) { return nil, errors.New("boom") },
		"panic": func(context.Context) (app.Controller, error) { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			u := newUnit()
			err := u.build(t.Context(), &informerView{}, construct)
			if err == nil || !strings.Contains(err.Error(), "boom") || !strings.Contains(err.Error(), "test-controller") {
				t.Errorf("got %v", err)
			}
			if got := u.status(); got.State != Failed {
				t.Errorf("got %+v", got)
			}
			if err := u.checkAlive(nil); err == nil {
				t.Error("failed, but its check succeeds")
			}
			if err := u.stop(); err != nil {
				t.Error(err)
			}
			if got := u.status(); got.State != Failed || !strings.Contains(got.Reason, "boom") {
				t.Errorf("after the end of the process or before a start: %+v", got)
			}
		})
	}
}

func TestConstructionEndsWithItsLimit(t *testing.T) {
	limit, cancel := context.WithCancelCause(t.Context())
	closing := errors.New("closing")
	retries := func(ctx context.Context) (app.Controller, error) {
		cancel(closing)
		<-ctx.Done()
		return nil, errors.New("no answer")
	}
	for range 2 { // the second time it does not begin
		u := newUnit()
		if err := u.build(t.Context(), &informerView{}, endWith(limit, retries)); !errors.Is(err, closing) {
			t.Errorf("got %v, want %v", err, closing)
		}
	}
}

func TestUnitDeclinesToRun(t *testing.T) {
	u := newUnit()
	err := u.build(t.Context(), &informerView{}, func(ctx context.Context) (app.Controller, error) {
		klog.FromContext(ctx).WithName("x").Info("no key to sign with", "a", 1)
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := u.status(); got.State != Off || got.Reason != "no key to sign with" {
		t.Errorf("got %+v", got)
	}
	if err := u.checkReady(nil); err != nil {
		t.Errorf("a controller that declines delays readiness: %v", err)
	}
}

func TestUnitExitIsFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnit()
		if err := u.build(t.Context(), &informerView{}, constructorOf(func(context.Context) {})); err != nil {
			t.Fatal(err)
		}
		u.start()
		synctest.Wait()
		if got := u.status().State; got != Failed {
			t.Errorf("got %s", got)
		}
		if err := u.checkAlive(nil); err == nil {
			t.Error("exited, but its check succeeds")
		}
		if err := u.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestUnitStopTimeoutNamesController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		u := newUnit()
		if err := u.build(t.Context(), &informerView{}, constructorOf(func(context.Context) { <-release })); err != nil {
			t.Fatal(err)
		}
		u.start()
		began := time.Now()
		err := u.stop()
		if err == nil || !strings.Contains(err.Error(), "test-controller") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != stopTimeout {
			t.Errorf("stop took %v", took)
		}
		close(release)
	})
}
