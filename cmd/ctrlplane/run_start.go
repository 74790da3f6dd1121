package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/cmd/ctrlplane/earlystderr"
	"github.com/ctrlplane/ctrlplane/ui"
)

// startPlane starts the control plane. If ctx ends in the meantime, a second signal
// ends this process at once.
func (r *runCommand) startPlane(ctx context.Context, c *commandProcess) error {
	s := &r.up.server
	p := newSlowStartProgress()
	defer p.close()
	s.OnStage = func(st ctrlplane.Stage) {
		r.report.startRecording(s)
		p.recordStage(st)
	}
	s.OnWarning = printWarning
	earlystderr.Capture(logEarlyStderr)
	var started atomic.Bool
	onKubernetesExit(ctx, s, &started, func() string { return r.report.logPath(s) }, func() {
		c.terminate()
		code, _ := r.report.write(exitFailure, errors.New(kubernetesFailed))
		exit(code)
	})
	stopWatching := context.AfterFunc(ctx, r.signals.stop)
	defer stopWatching()
	err := s.Start(ctx)
	started.Store(err == nil)
	if err == nil && r.up.showsTimings {
		if err := r.up.writeTimings(ctx, stderr, ui.Detect(stderr, os.Environ())); err != nil {
			s.OnWarning(err.Error())
		}
	}
	return err
}

// stopPlane stops the control plane. The second signal that arrives in the meantime
// ends this process at once.
func (r *runCommand) stopPlane() error {
	defer earlystderr.Release()
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			select {
			case sig := <-r.signals.ch:
				if n > 0 {
					code, _ := r.report.write(signalExitCode(sig), errors.New("a second signal ended ctrlplane before everything had stopped"))
					exit(code)
				}
			case <-stopped:
				return
			}
		}
	}()
	defer func() {
		close(stopped)
		<-done
	}()
	return r.up.server.Close()
}

// slowStartProgress shows the stages of a start that takes longer than a second.
type slowStartProgress struct {
	timer *time.Timer

	mu       sync.Mutex
	closed   bool
	progress *ui.Progress // nil in the first second
	ended    []ctrlplane.Stage
}

func newSlowStartProgress() *slowStartProgress {
	p := &slowStartProgress{}
	p.timer = time.AfterFunc(time.Second, p.show)
	return p
}

func (p *slowStartProgress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	mode := ui.Detect(stderr, os.Environ())
	mode.Live = false // the command writes to stderr next
	p.progress = ui.NewProgress(stderr, mode)
	for _, s := range p.ended {
		p.progress.End(s.Name, s.Took, s.Err)
	}
}

func (p *slowStartProgress) recordStage(s ctrlplane.Stage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !s.Ended:
	case p.progress == nil:
		p.ended = append(p.ended, s)
	default:
		p.progress.End(s.Name, s.Took, s.Err)
	}
}

func (p *slowStartProgress) close() {
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.progress != nil {
		p.progress.Close() // its error, that stderr is closed, could not be shown
	}
}
