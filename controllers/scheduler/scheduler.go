// Package scheduler runs upstream's kube-scheduler in this process: its plugins,
// queues and configuration, without its HTTP server, leader election and signal
// handlers.
package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Name is the scheduler's name among the controllers.
const Name = "kube-scheduler"

// stopTimeout bounds how long Close waits for the scheduler.
const stopTimeout = 10 * time.Second

// Scheduler is upstream's scheduler. New checks the configuration, Start starts the
// scheduler and Close stops it. It can be started once.
type Scheduler struct {
	cfg              Config
	component        *schedulerconfig.KubeSchedulerConfiguration
	maxUnschedulable time.Duration // that a Pod stays in the unschedulable queue
	recorder         *observe.Recorder
	done             chan struct{}
	closeDone        func() // closes done, once

	mu       sync.Mutex
	instance *instance // nil unless the scheduler is running
	used     bool      // Start or Close was called
	err      error     // why the scheduler ended without Close
}

// New checks cfg and returns a scheduler that is not running. A configuration file
// is checked with all its plugins and their arguments.
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
		recorder:         cfg.Recorder,
		done:             done,
		closeDone:        sync.OnceFunc(func() { close(done) }),
	}
	if cfg.ConfigFile != "" {
		if err := s.dryRun(); err != nil {
			return nil, cfg.configFileError(err)
		}
	}
	return s, nil
}

// dryRun builds a scheduler and discards it. Only that finds plugins that do not
// exist and arguments that a plugin does not accept.
func (s *Scheduler) dryRun() error {
	nowhere := &rest.Config{Host: "http://ctrlplane.invalid"} // building makes no calls
	inst, err := s.buildInstance(nowhere, newOwnInformers)
	if err != nil {
		return err
	}
	return inst.close()
}

// Start starts the scheduler and returns when its caches have synced. ctx bounds
// only the start.
func (s *Scheduler) Start(ctx context.Context) error {
	s.mu.Lock()
	if s.used {
		s.mu.Unlock()
		return errors.New("scheduler: already started or closed")
	}
	s.used = true
	var err error
	s.recorder.Do(func() { s.instance, err = s.startInstance() })
	inst := s.instance
	s.mu.Unlock()
	if err == nil {
		err = inst.waitSynced(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("scheduler: start: %w", err), s.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instance != inst {
		return errors.New("scheduler: closed while it was starting")
	}
	s.recorder.Do(inst.run)
	go s.watchExit(inst)
	return nil
}

// watchExit reports an exit that Close did not cause as a failure.
func (s *Scheduler) watchExit(inst *instance) {
	defer close(inst.watched)
	<-inst.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	if inst.ctx.Err() != nil {
		return
	}
	s.err = errors.New("scheduler: exited unexpectedly")
	s.cfg.Logger.Error(s.err.Error())
	s.closeDone()
}

// Close stops the scheduler and returns when it has stopped. It is idempotent.
func (s *Scheduler) Close() error {
	s.mu.Lock()
	inst := s.instance
	s.instance, s.used = nil, true
	s.mu.Unlock()
	defer s.closeDone()
	if inst == nil {
		return nil
	}
	return inst.close()
}

// Done is closed when the scheduler has stopped, after Close or without it.
func (s *Scheduler) Done() <-chan struct{} { return s.done }

// Err returns why the scheduler exited without Close; nil while it is running and
// after Close.
func (s *Scheduler) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
