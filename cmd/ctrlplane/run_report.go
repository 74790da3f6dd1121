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

// collectTimeout limits how long reading the objects at the end may take.
const collectTimeout = 20 * time.Second

// runReport writes the report of a run; without --report its methods do nothing.
type runReport struct {
	dir       string
	flagGiven func() bool    // whether --report was
	report    *report.Report // nil without --report

	mu      sync.Mutex     // guards what follows: a second signal writes the report from another goroutine
	outcome report.Outcome // so far
	stage   report.Stage   // the current one
	written bool
}

func (r *runReport) validate(records int) error {
	if r.flagGiven() && r.dir == "" {
		return usage.Errorf("--report: missing folder: name one, or leave the flag out")
	}
	if r.dir != "" && records < 0 {
		return usage.Errorf("--report needs observation, which --observe-records %d turns off: use one of them", records)
	}
	return nil
}

// open begins the report. An ephemeral control plane then logs to the report's
// folder, because its data folder is removed.
func (r *runReport) open(u *upCommand, args []string) error {
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
		*log = opened.FallbackLogPath()
		opened.SetLog(*log)
	case *log == "":
		opened.SetLog(filepath.Join(u.server.Dir, ctrlplane.LogFile))
	default:
		opened.SetLog(*log)
	}
	r.report, r.outcome = opened, report.Outcome{Command: args, Began: time.Now()}
	return nil
}

// startRecording begins to record what is observed, once there is an observer.
func (r *runReport) startRecording(s *ctrlplane.Server) {
	if r.report == nil || s.Observer() == nil {
		return
	}
	if err := r.report.Follow(s.Observer()); err != nil {
		printWarning("--report: " + err.Error())
	}
}

// logPath is where the log of the control plane is after the run.
func (r *runReport) logPath(s *ctrlplane.Server) string {
	if r.report != nil {
		return r.report.Path(report.LogFile)
	}
	return s.LogPath()
}

// beginStage records that the run has reached another stage; empty means its end.
func (r *runReport) beginStage(stage string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nextStage(stage)
}

func (r *runReport) nextStage(stage string) {
	now := time.Now()
	if r.stage.Name != "" {
		r.stage.Took = now.Sub(r.stage.At)
		r.outcome.Stages = append(r.outcome.Stages, r.stage)
	}
	r.stage = report.Stage{Name: stage, At: now}
}

// collectObjects reads the objects of the control plane. A signal interrupts it.
func (r *runReport) collectObjects(s *ctrlplane.Server, sigs signalChannel) {
	if r.report == nil {
		return
	}
	r.beginStage("report")
	ctx, cancel := context.WithTimeoutCause(context.Background(), collectTimeout, fmt.Errorf("no answer within %v", collectTimeout))
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.report.ReadState(ctx, s.RESTConfig())
	}()
	select {
	case <-done:
		return
	case <-sigs.ch:
	case <-s.Done():
	}
	cancel()
	<-done
}

// write completes the report, unless that was done before. If it cannot be written, a
// run that was successful fails; the exit code of a failed command does not change.
func (r *runReport) write(code int, err error) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.report == nil || r.written {
		return code, err
	}
	r.written = true
	r.nextStage("")
	o := r.outcome
	o.Code, o.Err, o.Took = code, err, time.Since(o.Began)
	if writeErr := r.report.Write(o, stderr, os.Getenv); writeErr != nil {
		printError(writeErr)
		if code == 0 {
			code = exitFailure
		}
		return code, err
	}
	result := "passed"
	if code != 0 {
		result = fmt.Sprintf("failed with exit code %d", code)
	}
	fmt.Fprintf(stderr, "ctrlplane: the run has %s: the report is %s\n", result, r.report.Path(report.PageFile))
	return code, err
}
