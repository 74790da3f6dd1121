package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane/cmd/ctrlplane/earlystderr"
)

// newLessonPlane is a control plane as "up --ephemeral" and further flags make it.
func newLessonPlane(t *target, flags []string) (*upCommand, error) {
	u := &upCommand{target: t}
	cmd := &cobra.Command{Use: "up", SilenceErrors: true, SilenceUsage: true}
	u.addFlags(cmd)
	if err := cmd.ParseFlags(flags); err != nil {
		return nil, err
	}
	if rest := cmd.Flags().Args(); len(rest) > 0 {
		return nil, fmt.Errorf("%q is no flag of up", rest[0])
	}
	u.ephemeral = true
	return u, u.prepareServer()
}

// startForLesson starts the control plane; stop ends it.
func (u *upCommand) startForLesson(ctx context.Context) (stop func() error, err error) {
	s := &u.server
	s.OnWarning = func(msg string) { fmt.Fprintf(os.Stderr, "ctrlplane: warning: %s\n", msg) }
	earlystderr.SendTo(func(line string) { klog.Background().Info("past the log", "line", line) })
	var started atomic.Bool
	// Where upstream sees no way on it logs why and ends the process.
	klog.OsExit = func(int) {
		if ctx.Err() != nil && !started.Load() {
			runtime.Goexit() // a post-start hook: it takes the end of the start for a failure
		}
		fmt.Fprintf(os.Stderr, "ctrlplane: a part of Kubernetes gave up: the end of %s says why\n", s.LogPath())
		os.Exit(1)
	}
	if err := s.Start(ctx); err != nil {
		earlystderr.SendTo(nil)
		return nil, err
	}
	started.Store(true)
	return func() error {
		defer earlystderr.SendTo(nil)
		if err := s.Close(); err != nil {
			return errors.Join(errors.New("the lesson's control plane did not end well"), err)
		}
		return nil
	}, nil
}
