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

	"github.com/ctrlplane/ctrlplane/observe"
)

// stopTimeout bounds how long a controller may take to end; upstream gives all
// of them 10 s together.
const stopTimeout = 10 * time.Second

// constructFunc makes a controller; nil, nil means that it declines to run here.
type constructFunc func(ctx context.Context) (app.Controller, error)

// unit is one controller: its own logger, clients, informers and lifetime.
type unit struct {
	name     string
	aliases  []string
	log      *slog.Logger
	recorder *observe.Recorder            // nil if nobody looks
	scaled   atomic.Pointer[scaledConfig] // nil = as configured

	mu     sync.Mutex
	state  State
	reason string
	latest *unitRun // nil unless built
	gate   *Gate    // of the calls of its latest life; nil before the first
	muted  bool     // changes of the state are not told
}

// unitRun is one run of a controller, from its construction to its end.
type unitRun struct {
	controller app.Controller
	facade     *facade
	ctx        context.Context
	cancel     context.CancelFunc
	done       chan struct{} // closed when Run has returned
}

func (u *unit) status() Status {
	u.mu.Lock()
	defer u.mu.Unlock()
	state, reason := u.displayState()
	return Status{Name: u.name, Aliases: u.aliases, State: state, Reason: reason}
}

func (u *unit) setState(state State, reason string, l *unitRun) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.state, u.reason, u.latest = state, reason, l
	u.publishState()
}

// runRecorded runs f as the controller's work.
func (u *unit) runRecorded(f func()) {
	if u.recorder == nil {
		f()
		return
	}
	u.recorder.Do(f)
}

// logger is the controller's own.
func (u *unit) logger() logr.Logger { return NewLogger(u.log.Handler(), u.recorder) }

func (u *unit) currentRun() *unitRun {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.latest
}

// build constructs the controller with a context of its own. A constructor
// that panics has failed, like one that returns an error.
func (u *unit) build(ctx context.Context, f *facade, construct constructFunc) (err error) {
	u.setState(Building, "", nil)
	ctx, cancel := context.WithCancel(ctx)
	said := &lastMessage{}
	defer func() {
		if r := recover(); r != nil {
			u.log.Error("panic while building", "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
		if err != nil {
			cancel()
			err = errors.Join(fmt.Errorf("controller %s: build: %w", u.name, err), f.close())
			u.setState(Failed, err.Error(), nil)
		}
	}()
	var controller app.Controller
	u.runRecorded(func() {
		controller, err = construct(klog.NewContext(ctx, logr.New(lastMessageSink{u.logger().GetSink(), said})))
	})
	said.sealed.Store(true)
	if err != nil {
		return err
	}
	if controller == nil {
		cancel()
		u.setState(Off, said.get(), nil)
		return f.close()
	}
	u.setState(Building, "", &unitRun{
		controller: controller,
		facade:     f,
		ctx:        klog.NewContext(ctx, u.logger()),
		cancel:     cancel,
		done:       make(chan struct{}),
	})
	return nil
}

// start starts what build made. Its end without a stop is a failure.
func (u *unit) start() {
	l := u.currentRun()
	if l == nil {
		return
	}
	u.setState(Running, "", l)
	go func() {
		defer close(l.done)
		u.runRecorded(func() { l.controller.Run(l.ctx) })
		if l.ctx.Err() == nil {
			u.log.Error("controller ended by itself")
			u.setState(Failed, "ended by itself", l)
		}
	}()
}

// stop ends the controller and removes its event handlers. The error names the
// controller if that takes longer than stopTimeout.
func (u *unit) stop() error {
	l := u.currentRun()
	if l == nil {
		return nil
	}
	started := u.status().State != Building
	u.setState(Stopping, "", l)
	u.closeActiveGate()
	l.cancel()
	if started {
		timeout := time.NewTimer(stopTimeout)
		defer timeout.Stop()
		select {
		case <-l.done:
		case <-timeout.C:
			u.closeGate()
			err := fmt.Errorf("controller %s: still running %v after it was told to stop", u.name, stopTimeout)
			u.setState(Failed, err.Error(), l)
			return err
		}
	}
	u.closeGate()
	err := l.facade.close()
	if u.recorder != nil {
		u.recorder.CloseQueues() // though nobody may be told that it has
	}
	u.setState(Off, stoppedReason, nil)
	return err
}

// debugHandler is the controller's own debugging endpoint, or nil.
func (u *unit) debugHandler() http.Handler {
	if l := u.currentRun(); l != nil {
		if d, ok := l.controller.(controller.Debuggable); ok {
			return d.DebuggingHandler()
		}
	}
	return nil
}

// checkAlive is an error once the controller has failed, or when its own check says so.
func (u *unit) checkAlive(req *http.Request) error {
	if s := u.status(); s.State == Failed {
		return errors.New(s.Reason)
	}
	if l := u.currentRun(); l != nil {
		if h, ok := l.controller.(controller.HealthCheckable); ok {
			if check := h.HealthChecker(); check != nil {
				return check.Check(req)
			}
		}
	}
	return nil
}

// checkReady is alive, and running unless it is off for a reason.
func (u *unit) checkReady(req *http.Request) error {
	if err := u.checkAlive(req); err != nil {
		return err
	}
	if s := u.status(); s.State == Building || s.State == Off && s.Reason == "" {
		return errors.New("controller has not started")
	}
	return nil
}
