package controllers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/controller-manager/controller"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"

	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// stopTimeout limits how long a controller may take to stop; upstream gives all
// of them 10 s together.
const stopTimeout = 10 * time.Second

// constructFunc builds a controller; nil, nil means that it declines to run.
type constructFunc func(ctx context.Context) (app.Controller, error)

// unit is one controller: its own logger, clients, informers and lifetime.
type unit struct {
	name     string
	aliases  []string
	log      *slog.Logger
	recorder *observe.Recorder            // may be nil
	scaled   atomic.Pointer[scaledConfig] // nil = as configured

	mu      sync.Mutex
	state   State
	reason  string
	latest  *unitRun        // nil unless built
	gate    *intervene.Gate // of the calls of the latest run; nil before the first
	mutedIn State           // the last state that was recorded, if changes are not; otherwise empty
}

// unitRun is one run of a controller, from its construction until it has stopped.
type unitRun struct {
	controller app.Controller
	view       *informerView
	ctx        context.Context
	cancel     context.CancelFunc
	done       chan struct{} // closed when Run has returned
}

func (u *unit) status() Status {
	u.mu.Lock()
	defer u.mu.Unlock()
	is := u.displayState()
	return Status{Name: u.name, Aliases: u.aliases, State: State(is.State), Reason: is.Reason, Interventions: is.Interventions}
}

func (u *unit) setState(state State, reason string, run *unitRun) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.state, u.reason, u.latest = state, reason, run
	u.publishState()
}

func (u *unit) logger() logr.Logger { return recording.NewLogger(u.log.Handler(), u.recorder) }

func (u *unit) currentRun() *unitRun {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.latest
}

// build constructs the controller with its own context. A panic of the
// constructor is a failure, as an error is.
func (u *unit) build(ctx context.Context, view *informerView, construct constructFunc) (err error) {
	u.setState(Building, "", nil)
	ctx, cancel := context.WithCancel(ctx)
	last := &lastMessage{}
	defer func() {
		if r := recover(); r != nil {
			u.log.Error("panic while building", "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
		if err != nil {
			cancel()
			err = errors.Join(fmt.Errorf("controller %s: build: %w", u.name, err), view.close())
			u.setState(Failed, err.Error(), nil)
		}
	}()
	var controller app.Controller
	u.recorder.Do(func() {
		controller, err = construct(klog.NewContext(ctx, logr.New(lastMessageSink{u.logger().GetSink(), last})))
	})
	last.sealed.Store(true)
	if err != nil {
		return err
	}
	if controller == nil {
		cancel()
		u.setState(Off, last.get(), nil)
		return view.close()
	}
	u.setState(Building, "", &unitRun{
		controller: controller,
		view:       view,
		ctx:        klog.NewContext(ctx, u.logger()),
		cancel:     cancel,
		done:       make(chan struct{}),
	})
	return nil
}

// start runs the controller that was built. It is a failure if the controller
// returns without being stopped. stop waits for the goroutine.
func (u *unit) start() {
	run := u.currentRun()
	if run == nil {
		return
	}
	u.setState(Running, "", run)
	go func() {
		defer close(run.done)
		u.recorder.Do(func() { run.controller.Run(run.ctx) })
		if run.ctx.Err() == nil {
			u.log.Error("controller exited without being stopped")
			u.setState(Failed, "exited without being stopped", run)
		}
	}()
}

// stop stops the controller and removes its event handlers. It returns an error
// that names the controller if that takes longer than stopTimeout. One that could not be built remains failed.
func (u *unit) stop() error {
	run := u.currentRun()
	if run == nil {
		return nil
	}
	started := u.status().State != Building
	u.setState(Stopping, "", run)
	u.endPacing()
	u.closeActiveGate()
	run.cancel()
	if started {
		timeout := time.NewTimer(stopTimeout)
		defer timeout.Stop()
		select {
		case <-run.done:
		case <-timeout.C:
			u.closeGate()
			err := fmt.Errorf("controller %s: still running %v after it was asked to stop", u.name, stopTimeout)
			u.setState(Failed, err.Error(), run)
			stacks, stacksErr := observe.Stacks(u.name)
			u.log.Error("the controller does not stop", "goroutines", stacks, "err", stacksErr)
			return err
		}
	}
	u.closeGate()
	err := run.view.close()
	u.recorder.CloseQueues() // also if the state change is not recorded
	u.setState(Off, stoppedReason, nil)
	return err
}

// turnOff stops the controller for a user. One that could not be built is off then, too.
func (u *unit) turnOff() error {
	if err := u.stop(); err != nil {
		return err
	}
	if u.status().State == Failed {
		u.setState(Off, stoppedReason, nil)
	}
	return nil
}

// debugHandler returns the controller's own debugging endpoint; nil if it has none.
func (u *unit) debugHandler() http.Handler {
	if run := u.currentRun(); run != nil {
		if d, ok := run.controller.(controller.Debuggable); ok {
			return d.DebuggingHandler()
		}
	}
	return nil
}

// checkAlive returns an error if the controller has failed, or the error of its own check.
func (u *unit) checkAlive(req *http.Request) error {
	if s := u.status(); s.State == Failed {
		return errors.New(s.Reason)
	}
	if run := u.currentRun(); run != nil {
		if h, ok := run.controller.(controller.HealthCheckable); ok {
			if check := h.HealthChecker(); check != nil {
				return check.Check(req)
			}
		}
	}
	return nil
}

// checkReady returns an error unless the controller is alive, and runs or is off for a reason.
func (u *unit) checkReady(req *http.Request) error {
	if err := u.checkAlive(req); err != nil {
		return err
	}
	if s := u.status(); s.State == Building || s.State == Off && s.Reason == "" {
		return errors.New("controller has not started")
	}
	return nil
}
