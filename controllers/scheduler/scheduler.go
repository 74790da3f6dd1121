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
	cfg              Config
	component        *schedulerconfig.KubeSchedulerConfiguration
	maxUnschedulable time.Duration // that a pod stays in the unschedulable queue
	recorder         *observe.Recorder
	done             chan struct{} // closed by finish
	closeDone        func()        // when it has ended

	mu       sync.Mutex
	instance *instance // nil unless it runs
	synced   bool      // its caches held what the server had
	used     bool      // it was started, or closed before
	err      error     // why it ended by itself
}

// New checks cfg and returns a scheduler that does nothing yet. A configuration
// file is tried out to the last plugin.
func New(cfg Config) (*Scheduler, error) {
	component, longest, err := cfg.componentConfig()
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	s := &Scheduler{
		cfg:              cfg,
		component:        component,
		maxUnschedulable: longest,
		recorder:         cfg.newRecorder(),
		done:             done,
		closeDone:        sync.OnceFunc(func() { close(done) }),
	}
	if cfg.ConfigFile != "" {
		if err := s.dryRun(); err != nil {
			return nil, cfg.configFileError(err)
		}
	}
	s.recordState(stateOff, "")
	return s, nil
}

// dryRun builds a scheduler that never runs: only that finds a plugin that
// does not exist, or arguments that one does not take.
func (s *Scheduler) dryRun() error {
	nowhere := &rest.Config{Host: "http://ctrlplane.invalid"} // building asks nothing of a server
	l, err := s.buildInstance(nowhere, nil)
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
	s.runRecorded(func() { s.instance, err = s.startInstance() })
	l := s.instance
	s.mu.Unlock()
	if err == nil {
		err = l.waitSynced(ctx)
	}
	if err != nil {
		err = errors.Join(fmt.Errorf("scheduler: start: %w", err), s.Close())
		s.recordState(stateFailed, err.Error())
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instance != l {
		return errors.New("scheduler: closed while it started")
	}
	s.synced = true
	s.recordState(stateRunning, "")
	s.runRecorded(l.run)
	go s.watchExit(l)
	return nil
}

// watchExit turns an end that nobody asked for into a failure.
func (s *Scheduler) watchExit(l *instance) {
	<-l.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.ctx.Err() != nil {
		return
	}
	s.err = errors.New("scheduler: ended by itself")
	s.cfg.Logger.Error(s.err.Error())
	s.recordState(stateFailed, s.err.Error())
	s.closeDone()
}

// Close ends the scheduler and returns when its work has ended. It is idempotent.
func (s *Scheduler) Close() error {
	s.mu.Lock()
	l := s.instance
	s.instance, s.used, s.synced = nil, true, false
	s.mu.Unlock()
	defer s.closeDone()
	if l == nil {
		return nil
	}
	s.recordState(stateStopping, "")
	if err := l.close(); err != nil {
		s.recordState(stateFailed, err.Error())
		return err
	}
	s.recordState(stateOff, "stopped")
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
		case s.instance != nil:
			return errors.New("scheduler: its caches have not synced")
		}
		return errors.New("scheduler: has not started, or was closed")
	})
}

// runRecorded runs f as the scheduler's work.
func (s *Scheduler) runRecorded(f func()) {
	if s.recorder == nil {
		f()
		return
	}
	s.recorder.Do(f)
}

// The states of a scheduler bear the names of a controller's.
const (
	stateOff      = "off"
	stateBuilding = "building"
	stateRunning  = "running"
	stateStopping = "stopping"
	stateFailed   = "failed"
)

func (s *Scheduler) recordState(state, reason string) {
	if s.recorder != nil {
		s.recorder.SetState(state, reason)
	}
}
