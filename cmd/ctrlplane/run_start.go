package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/cmd/ctrlplane/earlystderr"
	"github.com/ctrlplane/ctrlplane/ui"
)

// startPlane starts the control plane. If ctx ends meanwhile, a second signal ends
// this process at once.
func (r *runCommand) startPlane(ctx context.Context, c *commandProcess) error {
	s := &r.up.server
	p := newSlowStartProgress()
	defer p.close()
	s.OnStage = func(st ctrlplane.Stage) {
		r.report.startRecording(s)
		p.recordStage(st)
	}
	s.OnWarning = func(msg string) { fmt.Fprintf(os.Stderr, "ctrlplane: warning: %s\n", msg) }
	earlystderr.SendTo(func(line string) { klog.Background().Info("past the log", "line", line) })
	var started atomic.Bool
	// Where upstream sees no way on it logs why and ends the process.
	klog.OsExit = func(int) {
		if ctx.Err() != nil && !started.Load() {
			runtime.Goexit() // a post-start hook: it takes the end of the start for a failure
		}
		fmt.Fprintf(os.Stderr, "ctrlplane: a part of Kubernetes gave up: the end of %s says why\n", r.report.logPath(s))
		c.terminate()
		r.report.write(exitFailure, errors.New("a part of Kubernetes gave up"))
		os.Exit(exitFailure)
	}
	unhurried := context.AfterFunc(ctx, r.signals.stop)
	defer unhurried()
	err := s.Start(ctx)
	started.Store(err == nil)
	if err == nil && r.up.showsTimings {
		if err := r.up.writeTimings(ctx, os.Stderr, ui.Detect(os.Stderr, os.Environ())); err != nil {
			s.OnWarning(err.Error())
		}
	}
	return err
}

// stopPlane ends the control plane. Of signals that come meanwhile, the second ends
// this process at once.
func (r *runCommand) stopPlane() error {
	defer earlystderr.SendTo(nil)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for n := 0; ; n++ {
			select {
			case sig := <-r.signals.ch:
				if n > 0 {
					code, _ := r.report.write(signalExitCode(sig), errors.New("ended by a second signal before all had stopped"))
					os.Exit(code)
				}
			case <-done:
				return
			}
		}
	}()
	return r.up.server.Close()
}

// slowStartProgress shows the stages of a start that takes longer than a second.
type slowStartProgress struct {
	timer *time.Timer

	mu       sync.Mutex
	progress *ui.Progress // nil until then
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
	mode := ui.Detect(os.Stderr, os.Environ())
	mode.Live = false // the command writes there next
	p.progress = ui.NewProgress(os.Stderr, mode)
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
	if p.progress != nil {
		p.progress.Close() // what it may say, that the screen is gone, helps nobody
	}
}
