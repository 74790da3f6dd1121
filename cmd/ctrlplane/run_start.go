package main

import (
	"context"
	"errors"
	"os"
	"sync/atomic"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/cmd/ctrlplane/earlystderr"
	"github.com/ctrlplane/ctrlplane/ui"
)

// startPlane starts the control plane.
func (r *runCommand) startPlane(ctx context.Context, c *commandProcess) error {
	s := &r.up.server
	s.OnStage = func(ctrlplane.Stage) { r.report.startRecording(s) }
	s.Observe.ExcludeStart = r.assertions.rules.Limits()
	s.OnWarning = printWarning
	earlystderr.Capture(logEarlyStderr)
	var started atomic.Bool
	onKubernetesExit(ctx, s, &started, func() string { return r.report.logPath(s) }, func() {
		c.terminate()
		code, _ := r.finish(exitFailure, errors.New(kubernetesFailed))
		exit(code)
	})
	err := s.Start(ctx)
	started.Store(err == nil)
	if err != nil {
		return r.up.explainLocked(err)
	}
	if r.up.showsTimings {
		if err := r.up.writeTimings(ctx, stderr, ui.Detect(stderr, os.Environ())); err != nil {
			s.OnWarning(err.Error())
		}
	}
	return nil
}
