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

// builder makes a controller; nil, nil means that it declines to run here.
type builder func(ctx context.Context) (app.Controller, error)

// unit is one controller: its own logger, clients, informers and lifetime.
type unit struct {
	name    string
	aliases []string
	log     *slog.Logger
	by      *observe.Recorder     // nil if nobody looks
	scale   atomic.Pointer[scale] // nil = as configured

	mu     sync.Mutex
	state  State
	reason string
	life   *life // nil unless built
	gate   *gate // of the calls of its latest life; nil before the first
	quiet  bool  // changes of the state are not told
}

// life is one run of a controller, from its construction to its end.
type life struct {
	controller app.Controller
	facade     *facade
	ctx        context.Context
	cancel     context.CancelFunc
	ended      chan struct{} // closed when Run has returned
}

func (u *unit) status() Status {
	u.mu.Lock()
	defer u.mu.Unlock()
	state, reason := u.shown()
	return Status{Name: u.name, Aliases: u.aliases, State: state, Reason: reason}
}

func (u *unit) set(state State, reason string, l *life) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.state, u.reason, u.life = state, reason, l
	u.tell()
}

// do runs f as the controller's work.
func (u *unit) do(f func()) {
	if u.by == nil {
		f()
		return
	}
	u.by.Do(f)
}

// logger is the controller's own.
func (u *unit) logger() logr.Logger { return narrate(u.log.Handler(), u.by) }

func (u *unit) current() *life {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.life
}

// build constructs the controller with a context of its own. A constructor
// that panics has failed, like one that returns an error.
func (u *unit) build(ctx context.Context, f *facade, construct builder) (err error) {
	u.set(Building, "", nil)
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
			u.set(Failed, err.Error(), nil)
		}
	}()
	var controller app.Controller
	u.do(func() {
		controller, err = construct(klog.NewContext(ctx, logr.New(listener{u.logger().GetSink(), said})))
	})
	said.enough.Store(true)
	if err != nil {
		return err
	}
	if controller == nil {
		cancel()
		u.set(Off, said.get(), nil)
		return f.close()
	}
	u.set(Building, "", &life{
		controller: controller,
		facade:     f,
		ctx:        klog.NewContext(ctx, u.logger()),
		cancel:     cancel,
		ended:      make(chan struct{}),
	})
	return nil
}

// run starts what build made. Its end without a stop is a failure.
func (u *unit) run() {
	l := u.current()
	if l == nil {
		return
	}
	u.set(Running, "", l)
	go func() {
		defer close(l.ended)
		u.do(func() { l.controller.Run(l.ctx) })
		if l.ctx.Err() == nil {
			u.log.Error("controller ended by itself")
			u.set(Failed, "ended by itself", l)
		}
	}()
}

// stop ends the controller and removes its event handlers. The error names the
// controller if that takes longer than stopTimeout.
func (u *unit) stop() error {
	l := u.current()
	if l == nil {
		return nil
	}
	started := u.status().State != Building
	u.set(Stopping, "", l)
	u.shut()
	l.cancel()
	if started {
		timeout := time.NewTimer(stopTimeout)
		defer timeout.Stop()
		select {
		case <-l.ended:
		case <-timeout.C:
			u.endGate()
			err := fmt.Errorf("controller %s: still running %v after it was told to stop", u.name, stopTimeout)
			u.set(Failed, err.Error(), l)
			return err
		}
	}
	u.endGate()
	err := l.facade.close()
	if u.by != nil {
		u.by.Ended() // though nobody may be told that it has
	}
	u.set(Off, stopped, nil)
	return err
}

// debugHandler is the controller's own debugging endpoint, or nil.
func (u *unit) debugHandler() http.Handler {
	if l := u.current(); l != nil {
		if d, ok := l.controller.(controller.Debuggable); ok {
			return d.DebuggingHandler()
		}
	}
	return nil
}

// alive is an error once the controller has failed, or when its own check says so.
func (u *unit) alive(req *http.Request) error {
	if s := u.status(); s.State == Failed {
		return errors.New(s.Reason)
	}
	if l := u.current(); l != nil {
		if h, ok := l.controller.(controller.HealthCheckable); ok {
			if check := h.HealthChecker(); check != nil {
				return check.Check(req)
			}
		}
	}
	return nil
}

// ready is alive, and running unless it is off for a reason.
func (u *unit) ready(req *http.Request) error {
	if err := u.alive(req); err != nil {
		return err
	}
	if s := u.status(); s.State == Building || s.State == Off && s.Reason == "" {
		return errors.New("controller has not started")
	}
	return nil
}
