package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/cmd/ctrlplane/earlystderr"
)

// newLessonPlane configures a control plane as "up --ephemeral" and further flags do.
func newLessonPlane(ctx context.Context, t *target, flags []string) (*upCommand, error) {
	u, err := parseLessonPlane(t, flags)
	if err != nil {
		return nil, err
	}
	return u, u.prepareServer(ctx)
}

// startForLesson starts the control plane; stop stops it.
func (u *upCommand) startForLesson(ctx context.Context) (stop func() error, err error) {
	s := &u.server
	s.OnWarning = printWarning
	earlystderr.Capture(logEarlyStderr)
	onKubernetesExit(s, s.LogPath, func() { exit(1) })
	if err := s.Start(ctx); err != nil {
		earlystderr.Release()
		return nil, err
	}
	return func() error {
		defer earlystderr.Release()
		if err := s.Close(); err != nil {
			return fmt.Errorf("cannot stop the lesson's control plane: %w", err)
		}
		return nil
	}, nil
}

// parseLessonPlane parses the flags of a control plane that is started for a lesson.
func parseLessonPlane(t *target, flags []string) (*upCommand, error) {
	u := &upCommand{target: t}
	cmd := &cobra.Command{Use: "up", SilenceErrors: true, SilenceUsage: true}
	u.addFlags(cmd)
	if err := cmd.ParseFlags(flags); err != nil {
		return nil, err
	}
	if rest := cmd.Flags().Args(); len(rest) > 0 {
		return nil, fmt.Errorf("%q is not a flag of up", rest[0])
	}
	u.ephemeral = true
	return u, nil
}
