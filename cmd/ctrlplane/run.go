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
	exitOurs          = 125
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128 // and the signal's number
)

const (
	grace         = 10 * time.Second // from SIGTERM to SIGKILL
	settleTime    = time.Minute      // without --timeout
	settleHorizon = time.Second
)

// runner is what the flags of "ctrlplane run" say, and what runs.
type runner struct {
	up      *up
	settle  bool
	timeout time.Duration
	signals signals
	report  reporting
}

func newRun(t *target) *cobra.Command {
	r := &runner{up: &up{target: t}}
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
			return conclude(code, err)
		},
	}
	r.flags(cmd)
	return cmd
}

func (r *runner) flags(cmd *cobra.Command) {
	r.up.flags(cmd)
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the command is the command's
	f.Lookup("ephemeral").Usage += " (default unless --name or --data-dir is given)"
	f.BoolVar(&r.settle, "settle", false, "once the command has ended with 0, wait until nothing is left to do in any controller")
	f.DurationVar(&r.timeout, "timeout", 0, "how long the command may take, settling included; then it gets SIGTERM, and SIGKILL 10s later (default: for ever, and 1m to settle)")
	f.StringVar(&r.report.dir, "report", "", "folder to write a report of the run into")
	r.report.given = func() bool { return f.Changed("report") }
}

// conclude does not return from a run that did not end well, unless by bad usage.
func conclude(code int, err error) error {
	var bad usage.Error
	if errors.As(err, &bad) {
		return err
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "ctrlplane: %s\n", oneLine(err))
	}
	if code != 0 {
		os.Exit(code)
	}
	return nil
}

func (r *runner) check() error {
	if r.timeout < 0 {
		return usage.Errorf("--timeout: %v is less than 0", r.timeout)
	}
	if r.settle && r.up.server.Records < 0 {
		return usage.Errorf("--settle looks at what is observed, --observe-records %d turns that off: use one of them", r.up.server.Records)
	}
	if err := r.report.check(r.up.server.Records); err != nil {
		return err
	}
	return r.up.prepare()
}

// run returns the exit code, and what there is to say about it.
func (r *runner) run(ctx context.Context, args []string) (code int, err error) {
	if err := r.check(); err != nil {
		return exitOurs, err
	}
	if err := r.report.open(r.up, args); err != nil {
		return exitOurs, err
	}
	defer func() { code, err = r.report.write(code, err) }()
	c, err := newChild(args)
	if err != nil {
		return codeOfStart(err), err
	}
	r.signals = listen()
	defer r.signals.stop()
	if err := r.start(ctx, c); err != nil {
		if ctx.Err() != nil {
			return r.signals.code(), err
		}
		return exitOurs, err
	}
	defer func() {
		r.report.read(&r.up.server, r.signals)
		r.report.begin("stop")
		if stopErr := r.stop(); stopErr != nil {
			err = errors.Join(err, stopErr)
			if code == 0 {
				code = exitOurs
			}
		}
		c.tellLeft(os.Stderr)
	}()
	if ctx.Err() != nil {
		return r.signals.code(), errors.New("stopped before the command was started")
	}
	return r.command(c)
}

// command runs the command to its end.
func (r *runner) command(c *child) (int, error) {
	began := time.Now()
	r.report.begin("command")
	r.signals.more()
	s := &r.up.server
	if err := c.start(filepath.Join(s.DataDir(), ctrlplane.KubeconfigFile), s.URL()); err != nil {
		return codeOfStart(err), err
	}
	if code, err := r.await(c); err != nil || code != 0 || !r.settle {
		return code, err
	}
	r.report.begin("settling")
	return r.settled(began)
}

// await returns when the command has ended, by itself or because it had to.
func (r *runner) await(c *child) (int, error) {
	var over, kill <-chan time.Time
	if r.timeout > 0 {
		over = time.After(r.timeout)
	}
	died := r.up.server.Done()
	var why error
	code := 0
	for {
		select {
		case <-c.ended:
			if why != nil {
				return code, why
			}
			return c.code()
		case sig := <-r.signals.c:
			c.forward(sig)
			continue
		case <-kill:
			c.kill()
			continue
		case <-over:
			code, why = exitTimeout, fmt.Errorf("the command was ended, because it took longer than %v: raise --timeout if it needs that", r.timeout)
		case <-died:
			code, why = exitOurs, fmt.Errorf("the command was ended, because the control plane has ended: %w", r.up.server.Err())
		}
		over, died = nil, nil
		c.end()
		kill = time.After(grace)
	}
}

// settled waits until nothing is left to do.
func (r *runner) settled(began time.Time) (int, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	limit, within := began.Add(r.timeout), r.timeout
	if r.timeout == 0 {
		limit, within = time.Now().Add(settleTime), settleTime
	}
	bounded, stop := context.WithDeadlineCause(ctx, limit, fmt.Errorf("timed out after %v", within))
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- settled.Wait(bounded, r.up.server.Observer(), settleHorizon, nil) }()
	select {
	case err := <-ended:
		if busy, ok := errors.AsType[*settled.BusyError](err); ok {
			printWork(os.Stderr, busy.Work)
		}
		if err != nil {
			return exitOurs, err
		}
		return 0, nil
	case sig := <-r.signals.c:
		cancel(errors.New("interrupted"))
		return codeOfSignal(sig), errors.New("not settled: interrupted")
	case <-r.up.server.Done():
		return exitOurs, fmt.Errorf("not settled: the control plane has ended: %w", r.up.server.Err())
	}
}
