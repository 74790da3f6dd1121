package main

import (
	"context"
	"errors"
	"os"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/cmd/ctrlplane/earlystderr"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/ui"
)

// startPlane starts the control plane.
func (r *runCommand) startPlane(ctx context.Context, c *commandProcess) error {
	s := &r.up.server
	s.OnStage = func(stage ctrlplane.Stage) {
		r.report.startRecording(s)
		if _, refused := errors.AsType[*manifests.Errors](stage.Err); refused && !errors.Is(stage.Err, context.Canceled) {
			r.readAfterRefusal(ctx)
		}
	}
	s.Observe.ExcludeStart = r.assertions.rules.Limits()
	s.OnWarning = printWarning
	earlystderr.Capture(logEarlyStderr)
	onKubernetesExit(s, func() string { return r.report.logPath(s) }, func() {
		c.terminate()
		code, _ := r.finish(exitFailure, errors.New(kubernetesFailed))
		exit(code)
	})
	if err := s.Start(ctx); err != nil {
		return r.up.explainLocked(err)
	}
	if r.up.showsTimings {
		if err := r.up.writeTimings(ctx, stderr, ui.Detect(stderr, os.Environ())); err != nil {
			s.OnWarning(err.Error())
		}
	}
	return nil
}
