package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/logfile"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// logsCommand has the flags of "ctrlplane logs".
type logsCommand struct {
	target *target
	follow bool
	tail   int
}

func newLogsCommand(t *target) *cobra.Command {
	l := &logsCommand{target: t}
	cmd := &cobra.Command{
		Use:     "logs [NAME]",
		Aliases: []string{"log"},
		Short:   "Print the log of a control plane, running or stopped",
		Long: `Print the log of all components of a control plane, running or stopped. Of one that
was started with "up --detach", also print what it has written to its standard error,
as after a crash. With --follow, continue until the control plane ends or Ctrl-C.
Without a name, print that of the control plane of KUBECONFIG, otherwise of the default
one or, if that has none, of the only one that is running.`,
		Example: `  ctrlplane logs
  ctrlplane logs -f --tail 20
  ctrlplane logs demo`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage.Errorf("logs takes one name, got %q: leave out all but one", args)
			}
			return checkPlaneArgs("logs", t, false, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if l.tail < -1 {
				return usage.Errorf("--tail %d: not a number of lines: use 0 or more, or -1 for all", l.tail)
			}
			return l.run(cmd.Context(), cmd.OutOrStdout(), args)
		},
	}
	cmd.Flags().BoolVarP(&l.follow, "follow", "f", false, "continue with new lines until the control plane ends")
	cmd.Flags().IntVar(&l.tail, "tail", -1, "number of lines to begin with; -1 means all")
	return cmd
}

func (l *logsCommand) run(ctx context.Context, out io.Writer, names []string) error {
	p, err := l.target.planeOfLog(names)
	if err != nil {
		return err
	}
	err = logfile.Print(ctx, out, p.logPath(), logfile.PrintOptions{Tail: l.tail, Follow: l.follow, Ended: func() bool {
		_, running, err := datadir.Peek(p.DataDir)
		return err != nil || !running
	}})
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("control plane %q has no log: %w: it was removed, or the control plane was never ready", p.Name, err)
	}
	if err != nil {
		return err
	}
	return printStderrFile(out, p)
}

// logPath is where the log is, if there is one.
func (p plane) logPath() string {
	return cmp.Or(p.logFile, filepath.Join(p.DataDir, ctrlplane.LogFile))
}

// planeOfLog is the selected control plane, running or not. If none is named, it is that of KUBECONFIG,
// then the default one or, if that has no log, the only one that is running, as for other verbs that read.
func (t *target) planeOfLog(names []string) (plane, error) {
	if len(names) > 0 {
		list, err := t.findPlanes(names)
		if err != nil {
			return plane{}, err
		}
		return list[0], nil
	}
	if s := t.selected(); !s.byName {
		c, _, err := s.peek()
		if err != nil {
			return plane{}, err
		}
		s.note(t, c)
		return newPlane(c.state.Name, c.path)
	}
	p, err := t.findPlane()
	if t.named() || os.Getenv(dataDirEnv) != "" || err == nil && p.isUp() {
		return p, err
	}
	if _, statErr := os.Stat(p.logPath()); err == nil && statErr == nil {
		return p, nil
	}
	dir, runningErr := t.runningDataDir()
	if errors.As(runningErr, new(notRunningError)) {
		return p, err
	}
	if runningErr != nil {
		return plane{}, runningErr
	}
	return newPlane("", dir)
}

// printStderrFile prints what a control plane in the background has written to stderr since
// its last start.
func printStderrFile(out io.Writer, p plane) error {
	path := filepath.Join(p.DataDir, stderrFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.ModTime().Before(p.Started) {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}
