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

// start starts the control plane. If ctx ends meanwhile, a second signal ends
// this process at once.
func (r *runner) start(ctx context.Context, c *child) error {
	s := &r.up.server
	p := newPatient()
	defer p.close()
	s.OnStage = func(st ctrlplane.Stage) {
		r.report.follow(s)
		p.stage(st)
	}
	s.OnWarning = func(msg string) { fmt.Fprintf(os.Stderr, "ctrlplane: warning: %s\n", msg) }
	earlystderr.To(func(line string) { klog.Background().Info("past the log", "line", line) })
	var started atomic.Bool
	// Where upstream sees no way on it logs why and ends the process.
	klog.OsExit = func(int) {
		if ctx.Err() != nil && !started.Load() {
			runtime.Goexit() // a post-start hook: it takes the end of the start for a failure
		}
		fmt.Fprintf(os.Stderr, "ctrlplane: a part of Kubernetes gave up: the end of %s says why\n", r.report.log(s))
		c.end()
		r.report.write(exitOurs, errors.New("a part of Kubernetes gave up"))
		os.Exit(exitOurs)
	}
	unhurried := context.AfterFunc(ctx, r.signals.stop)
	defer unhurried()
	err := s.Start(ctx)
	started.Store(err == nil)
	if err == nil && r.up.timed {
		if err := r.up.tellTimings(ctx, os.Stderr, ui.Detect(os.Stderr, os.Environ())); err != nil {
			s.OnWarning(err.Error())
		}
	}
	return err
}

// stop ends the control plane. Of signals that come meanwhile, the second ends
// this process at once.
func (r *runner) stop() error {
	defer earlystderr.To(nil)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for n := 0; ; n++ {
			select {
			case sig := <-r.signals.c:
				if n > 0 {
					code, _ := r.report.write(codeOfSignal(sig), errors.New("ended by a second signal before all had stopped"))
					os.Exit(code)
				}
			case <-done:
				return
			}
		}
	}()
	return r.up.server.Close()
}

// patient shows the stages of a start that takes longer than a second.
type patient struct {
	timer *time.Timer

	mu       sync.Mutex
	progress *ui.Progress // nil until then
	ended    []ctrlplane.Stage
}

func newPatient() *patient {
	p := &patient{}
	p.timer = time.AfterFunc(time.Second, p.show)
	return p
}

func (p *patient) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	mode := ui.Detect(os.Stderr, os.Environ())
	mode.Live = false // the command writes there next
	p.progress = ui.NewProgress(os.Stderr, mode)
	for _, s := range p.ended {
		p.progress.End(s.Name, s.Took, s.Err)
	}
}

func (p *patient) stage(s ctrlplane.Stage) {
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

func (p *patient) close() {
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.progress != nil {
		p.progress.Close() // what it may say, that the screen is gone, helps nobody
	}
}
