// Package scheduler runs upstream's kube-scheduler in this process: its own
// plugins, queues and configuration, without its server, its lease or its signals.
package scheduler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/rest"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Name is the scheduler's name among the controllers.
const Name = "kube-scheduler"

// stopTimeout bounds how long the scheduler may take to end.
const stopTimeout = 10 * time.Second

// Scheduler is upstream's scheduler. New checks the options, Start runs it,
// Close ends it; it runs once.
type Scheduler struct {
	cfg       Config
	component *schedulerconfig.KubeSchedulerConfiguration
	longest   time.Duration // that a pod stays in the unschedulable queue
	by        *observe.Recorder
	done      chan struct{} // closed by finish
	finish    func()        // when it has ended

	mu     sync.Mutex
	life   *life // nil unless it runs
	synced bool  // its caches held what the server had
	used   bool  // it was started, or closed before
	err    error // why it ended by itself
}

// New checks cfg and returns a scheduler that does nothing yet. A configuration
// file is tried out to the last plugin.
func New(cfg Config) (*Scheduler, error) {
	component, longest, err := cfg.component()
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	s := &Scheduler{
		cfg:       cfg,
		component: component,
		longest:   longest,
		by:        cfg.recorder(),
		done:      done,
		finish:    sync.OnceFunc(func() { close(done) }),
	}
	if cfg.ConfigFile != "" {
		if err := s.rehearse(); err != nil {
			return nil, cfg.refuse(err)
		}
	}
	s.changed(off, "")
	return s, nil
}

// rehearse builds a scheduler that never runs: only that finds a plugin that
// does not exist, or arguments that one does not take.
func (s *Scheduler) rehearse() error {
	nowhere := &rest.Config{Host: "http://ctrlplane.invalid"} // building asks nothing of a server
	l, err := s.build(nowhere, nil)
	if err != nil {
		return err
	}
	return l.close()
}

// Start runs the scheduler and returns when its caches hold what the server
// has. ctx bounds the start only.
func (s *Scheduler) Start(ctx context.Context) error {
	s.mu.Lock()
	if s.used {
		s.mu.Unlock()
		return errors.New("scheduler: already started or closed")
	}
	s.used = true
	var err error
	s.do(func() { s.life, err = s.begin() })
	l := s.life
	s.mu.Unlock()
	if err == nil {
		err = l.waitSynced(ctx)
	}
	if err != nil {
		err = errors.Join(fmt.Errorf("scheduler: start: %w", err), s.Close())
		s.changed(failed, err.Error())
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life != l {
		return errors.New("scheduler: closed while it started")
	}
	s.synced = true
	s.changed(running, "")
	s.do(l.run)
	go s.watch(l)
	return nil
}

// watch turns an end that nobody asked for into a failure.
func (s *Scheduler) watch(l *life) {
	<-l.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.ctx.Err() != nil {
		return
	}
	s.err = errors.New("scheduler: ended by itself")
	s.cfg.Logger.Error(s.err.Error())
	s.changed(failed, s.err.Error())
	s.finish()
}

// Close ends the scheduler and returns when its work has ended. It is idempotent.
func (s *Scheduler) Close() error {
	s.mu.Lock()
	l := s.life
	s.life, s.used, s.synced = nil, true, false
	s.mu.Unlock()
	defer s.finish()
	if l == nil {
		return nil
	}
	s.changed(stopping, "")
	if err := l.close(); err != nil {
		s.changed(failed, err.Error())
		return err
	}
	s.changed(off, "stopped")
	return nil
}

// Done is closed when the scheduler has ended, by Close or by itself.
func (s *Scheduler) Done() <-chan struct{} { return s.done }

// Err says why the scheduler ended by itself; nil while it runs and after Close.
func (s *Scheduler) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Check is for /readyz: green while the scheduler runs.
func (s *Scheduler) Check() healthz.HealthChecker {
	return healthz.NamedCheck(Name, func(*http.Request) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case s.err != nil:
			return s.err
		case s.cfg.Standby && !s.used || s.synced:
			return nil
		case s.life != nil:
			return errors.New("scheduler: its caches have not synced")
		}
		return errors.New("scheduler: has not started, or was closed")
	})
}

// do runs f as the scheduler's work.
func (s *Scheduler) do(f func()) {
	if s.by == nil {
		f()
		return
	}
	s.by.Do(f)
}

// The states of a scheduler bear the names of a controller's.
const (
	off      = "off"
	building = "building"
	running  = "running"
	stopping = "stopping"
	failed   = "failed"
)

func (s *Scheduler) changed(state, reason string) {
	if s.by != nil {
		s.by.Changed(state, reason)
	}
}
