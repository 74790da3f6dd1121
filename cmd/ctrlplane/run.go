package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// The exit codes of "ctrlplane run" that are not the command's own: those of
// timeout(1) and docker.
const (
	exitTimeout       = 124
	exitFailure       = 125
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128 // and the signal's number
)

const (
	killGrace     = 10 * time.Second // from SIGTERM to SIGKILL
	settleTimeout = time.Minute      // without --timeout
	settleHorizon = time.Second
)

// runCommand is what the flags of "ctrlplane run" say, and what runs.
type runCommand struct {
	up      *upCommand
	settle  bool
	timeout time.Duration
	signals signalChannel
	report  runReport
}

func newRunCommand(t *target) *cobra.Command {
	r := &runCommand{up: &upCommand{target: t}}
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG…]",
		Short: "Start a control plane, run a command with it, and stop",
		Long: `Start a control plane, run a command that finds it, stop it again, and exit as
the command did. The control plane is ephemeral unless --name or --data-dir is
given. Several runs at once do not meet.

The command gets KUBECONFIG (a file in the data folder), CTRLPLANE_URL,
CTRLPLANE_DATA_DIR (other verbs of this program find the control plane by it) and
USE_EXISTING_CLUSTER=true (for envtest), and else this environment, stdin,
stdout and stderr. Nothing but the command writes to stdout.

At a terminal the command is in the terminal's foreground, and its Ctrl-C and
Ctrl-\ reach it without our help: SIGINT and SIGQUIT are not sent on then. All
other signals are, and all of them where there is no terminal: there the command
has a process group of its own, and the whole group gets them. Processes that
outlive the command in its group are named on stderr, and are not ended. One
that goes into a group or a session of its own is not seen.

Exit codes: the command's own, and 128 and the signal's number if a signal ended
it, or this program before the command ran.
  2    bad usage of ctrlplane
  124  --timeout is over
  125  the control plane did not start, ended, did not stop, or did not settle
  126  the command cannot be executed
  127  the command is not found

With --report a page of what every controller did, and files for other programs,
are written however the run ends: report.html, events.jsonl, junit.xml,
objects.yaml and ctrlplane.log. On GitHub Actions and GitLab a short summary goes
where these show it.`,
		Example: `  ctrlplane run -- go test ./...
  ctrlplane run -f crds/ --nodes 3 --timeout 10m -- make e2e
  ctrlplane run --settle -- kubectl apply -f manifests/
  ctrlplane run --settle --report out/ -f manifests/ -- go test ./...
  ctrlplane run -- sh -c 'kubectl apply -f x.yaml && ctrlplane wait -f x.yaml'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage.Errorf(`say what to run: "%s -- COMMAND [ARG…]"`, cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !t.named() && !cmd.Flags().Changed("ephemeral") {
				r.up.ephemeral = true
			}
			code, err := r.run(cmd.Context(), args)
			return exitWith(code, err)
		},
	}
	r.addFlags(cmd)
	return cmd
}

func (r *runCommand) addFlags(cmd *cobra.Command) {
	r.up.addFlags(cmd)
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the command is the command's
	f.Lookup("ephemeral").Usage += " (default unless --name or --data-dir is given)"
	f.BoolVar(&r.settle, "settle", false, "once the command has ended with 0, wait until nothing is left to do in any controller")
	f.DurationVar(&r.timeout, "timeout", 0, "how long the command may take, settling included; then it gets SIGTERM, and SIGKILL 10s later (default: for ever, and 1m to settle)")
	f.StringVar(&r.report.dir, "report", "", "folder to write a report of the run into")
	r.report.flagGiven = func() bool { return f.Changed("report") }
}

// exitWith does not return from a run that did not end well, unless by bad usage.
func exitWith(code int, err error) error {
	var bad usage.Error
	if errors.As(err, &bad) {
		return err
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "ctrlplane: %s\n", singleLine(err))
	}
	if code != 0 {
		os.Exit(code)
	}
	return nil
}

func (r *runCommand) validate() error {
	if r.timeout < 0 {
		return usage.Errorf("--timeout: %v is less than 0", r.timeout)
	}
	if r.settle && r.up.server.Observe.Records < 0 {
		return usage.Errorf("--settle looks at what is observed, --observe-records %d turns that off: use one of them", r.up.server.Observe.Records)
	}
	if err := r.report.validate(r.up.server.Observe.Records); err != nil {
		return err
	}
	return r.up.prepareServer()
}

// run returns the exit code, and what there is to say about it.
func (r *runCommand) run(ctx context.Context, args []string) (code int, err error) {
	if err := r.validate(); err != nil {
		return exitFailure, err
	}
	if err := r.report.open(r.up, args); err != nil {
		return exitFailure, err
	}
	defer func() { code, err = r.report.write(code, err) }()
	c, err := newCommandProcess(args)
	if err != nil {
		return startExitCode(err), err
	}
	r.signals = listenForSignals()
	defer r.signals.stop()
	if err := r.startPlane(ctx, c); err != nil {
		if ctx.Err() != nil {
			return r.signals.exitCode(), err
		}
		return exitFailure, err
	}
	defer func() {
		r.report.collectObjects(&r.up.server, r.signals)
		r.report.beginStage("stop")
		if stopErr := r.stopPlane(); stopErr != nil {
			err = errors.Join(err, stopErr)
			if code == 0 {
				code = exitFailure
			}
		}
		c.reportLeftovers(os.Stderr)
	}()
	if ctx.Err() != nil {
		return r.signals.exitCode(), errors.New("stopped before the command was started")
	}
	return r.runToEnd(c)
}

// runToEnd runs the command to its end.
func (r *runCommand) runToEnd(c *commandProcess) (int, error) {
	began := time.Now()
	r.report.beginStage("command")
	r.signals.addCommandSignals()
	s := &r.up.server
	if err := c.start(filepath.Join(s.DataDir(), ctrlplane.KubeconfigFile), s.URL()); err != nil {
		return startExitCode(err), err
	}
	if code, err := r.waitForExit(c); err != nil || code != 0 || !r.settle {
		return code, err
	}
	r.report.beginStage("settling")
	return r.waitSettled(began)
}

// waitForExit returns when the command has ended, by itself or because it had to.
func (r *runCommand) waitForExit(c *commandProcess) (int, error) {
	var over, kill <-chan time.Time
	if r.timeout > 0 {
		over = time.After(r.timeout)
	}
	died := r.up.server.Done()
	var why error
	code := 0
	for {
		select {
		case <-c.exited:
			if why != nil {
				return code, why
			}
			return c.exitCode()
		case sig := <-r.signals.ch:
			c.forwardSignal(sig)
			continue
		case <-kill:
			c.kill()
			continue
		case <-over:
			code, why = exitTimeout, fmt.Errorf("the command was ended, because it took longer than %v: raise --timeout if it needs that", r.timeout)
		case <-died:
			code, why = exitFailure, fmt.Errorf("the command was ended, because the control plane has ended: %w", r.up.server.Err())
		}
		over, died = nil, nil
		c.terminate()
		kill = time.After(killGrace)
	}
}

// waitSettled waits until nothing is left to do.
func (r *runCommand) waitSettled(began time.Time) (int, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	limit, within := began.Add(r.timeout), r.timeout
	if r.timeout == 0 {
		limit, within = time.Now().Add(settleTimeout), settleTimeout
	}
	bounded, stop := context.WithDeadlineCause(ctx, limit, fmt.Errorf("timed out after %v", within))
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- settled.Wait(bounded, r.up.server.Observer(), settleHorizon, nil) }()
	select {
	case err := <-ended:
		if busy, ok := errors.AsType[*settled.BusyError](err); ok {
			printRemainingWork(os.Stderr, busy.Work)
		}
		if err != nil {
			return exitFailure, err
		}
		return 0, nil
	case sig := <-r.signals.ch:
		cancel(errors.New("interrupted"))
		return signalExitCode(sig), errors.New("not settled: interrupted")
	case <-r.up.server.Done():
		return exitFailure, fmt.Errorf("not settled: the control plane has ended: %w", r.up.server.Err())
	}
}
