package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/ui/report"
)

// readTime is how long what there is at the end may take to be read.
const readTime = 20 * time.Second

// reporting is the report of a run; without --report its methods do nothing.
type reporting struct {
	dir    string
	given  func() bool    // whether --report was
	report *report.Report // nil without --report

	mu      sync.Mutex     // what follows may be wanted by who ends the process early
	outcome report.Outcome // what is known of it by now
	stage   report.Stage   // of the run that is under way
	written bool
}

func (r *reporting) check(records int) error {
	if r.given() && r.dir == "" {
		return usage.Errorf("--report names no folder: name one, or leave it out")
	}
	if r.dir != "" && records < 0 {
		return usage.Errorf("--report tells what is observed, --observe-records %d turns that off: use one of them", records)
	}
	return nil
}

// open begins the report. It says where a control plane is to log that keeps
// nothing else.
func (r *reporting) open(u *up, args []string) error {
	if r.dir == "" {
		return nil
	}
	var applied []manifests.Object
	if len(u.server.Manifests) > 0 {
		var err error
		if applied, err = manifests.Load(u.server.Manifests); err != nil {
			return err
		}
	}
	opened, err := report.Open(r.dir, applied)
	if err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	log := &u.server.Log.Path
	switch {
	case *log == "" && u.ephemeral:
		*log = opened.SpareLog()
		opened.Log(*log)
	case *log == "":
		opened.Log(filepath.Join(u.server.Dir, ctrlplane.LogFile))
	default:
		opened.Log(*log)
	}
	r.report, r.outcome = opened, report.Outcome{Command: args, Began: time.Now()}
	return nil
}

// follow begins to take down what is observed, once there is an observer.
func (r *reporting) follow(s *ctrlplane.Server) {
	if r.report == nil || s.Observer() == nil {
		return
	}
	if err := r.report.Follow(s.Observer()); err != nil {
		fmt.Fprintf(os.Stderr, "ctrlplane: warning: --report: %s\n", oneLine(err))
	}
}

// log is where the log of the control plane is in the end.
func (r *reporting) log(s *ctrlplane.Server) string {
	if r.report != nil {
		return r.report.Path(report.LogFile)
	}
	return s.LogPath()
}

// begin notes that the run has come to another stage; empty = its end.
func (r *reporting) begin(stage string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next(stage)
}

func (r *reporting) next(stage string) {
	now := time.Now()
	if r.stage.Name != "" {
		r.stage.Took = now.Sub(r.stage.At)
		r.outcome.Stages = append(r.outcome.Stages, r.stage)
	}
	r.stage = report.Stage{Name: stage, At: now}
}

// read takes down what there is. A signal ends it.
func (r *reporting) read(s *ctrlplane.Server, sigs signals) {
	if r.report == nil {
		return
	}
	r.begin("report")
	ctx, cancel := context.WithTimeoutCause(context.Background(), readTime, fmt.Errorf("no answer within %v", readTime))
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.report.Read(ctx, s.RESTConfig())
	}()
	select {
	case <-done:
		return
	case <-sigs.c:
	case <-s.Done():
	}
	cancel()
	<-done
}

// write ends the report, if nobody has yet. That it cannot be written is a failure of ours, but
// the exit code of a command that has failed stays.
func (r *reporting) write(code int, err error) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.report == nil || r.written {
		return code, err
	}
	r.written = true
	r.next("")
	o := r.outcome
	o.Code, o.Err, o.Took = code, err, time.Since(o.Began)
	if writeErr := r.report.Write(o, os.Stderr, os.Getenv); writeErr != nil {
		fmt.Fprintf(os.Stderr, "ctrlplane: %s\n", oneLine(writeErr))
		if code == 0 {
			code = exitOurs
		}
		return code, err
	}
	fmt.Fprintf(os.Stderr, "ctrlplane: the report is %s\n", r.report.Path(report.PageFile))
	return code, err
}
