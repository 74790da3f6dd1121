package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui/report"
)

// The exit codes of "ctrlplane run" that are not the command's own. They are those of
// timeout(1) and docker.
const (
	exitAssertion     = report.AssertionCode
	exitTimeout       = 124
	exitFailure       = 125
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128 // plus the signal's number
)

const (
	killGrace = 10 * time.Second // from SIGTERM to SIGKILL
	// From a second signal to SIGKILL: GitHub Actions kills a canceled job 2.5 s after it.
	secondSignalGrace = time.Second
	settleTimeout     = time.Minute // without --timeout
	settleHorizon     = time.Second
)

// runCommand has the flags of "ctrlplane run" and the state of the run.
type runCommand struct {
	command *cobra.Command
	up      *upCommand
	settle  bool
	timeout time.Duration
	signals signalChannel
	report  runReport
	matrix  versionMatrix

	assertions runAssertions
	applied    []manifests.Object // that the control plane starts with
	deletions  *report.Deletions  // nil if they are not followed

	interrupted      os.Signal        // what ended the run before the command had ended, or settling
	earlyInterrupted func() os.Signal // what ended the start, once it was; says so
	hurried          atomic.Bool      // by a second signal: the process may be killed soon
	finishing        chan struct{}
	finishOnce       sync.Once             // closes finishing
	reason           atomic.Pointer[error] // why the run ends, while that is not printed; nil = there is none yet

	// stderr, which is dropped if nothing reads it for 2 s once expired has ended: --timeout has expired then, and the run is to end
	output  io.Writer
	expired context.Context
	expire  context.CancelFunc
}

const runHelp = `Start a control plane, run a command with access to it, stop the control plane,
and exit with the command's exit code. The control plane is ephemeral unless
--name or --data-dir is given. Concurrent runs are isolated from each other.

The command inherits the environment, stdin, stdout and stderr. In addition it
gets KUBECONFIG (a file in the data folder), CTRLPLANE_URL, CTRLPLANE_DATA_DIR (by
which other verbs of ctrlplane find the control plane) and
USE_EXISTING_CLUSTER=true (for envtest). Where the environment names a proxy, it also
gets NO_PROXY and no_proxy with the loopback addresses. Only the command writes to
stdout.

On a terminal the command is in the terminal's foreground process group, which
receives Ctrl-C and Ctrl-\ from the terminal, so ctrlplane does not forward
SIGINT and SIGQUIT. It forwards all other signals, but SIGHUP only once: a
terminal that is closed may send several. Without a terminal the command
has a process group of its own, and ctrlplane forwards all signals to that group.

ctrlplane kills a command that still runs 1s after a second signal (without a
terminal: its process group), and exits with 128 plus the signal's number, or with
124 if --timeout had expired before. A second Ctrl-C on the terminal does not have
that effect: the command decides what Ctrl-C does, and whether the run goes on.
Processes of the group that outlive the command are reported on stderr, but not
stopped. Processes in other groups or sessions are not detected. If ctrlplane itself
is killed (SIGKILL), Linux kills the command, too, but not what the command has
started; on other systems it continues.

Exit codes: the command's own; 128 plus the signal's number if a signal ended the
command, or ctrlplane before the run had ended; with --report, --settle or an assertion
also if the command has handled it and exited with 0: that run has not passed; and
  2    wrong usage of ctrlplane, or a wrong or missing manifest of -f or -k: the same
       command would fail again
  123  the command succeeded, but --healthy or another assertion does not hold
  124  --timeout has expired, while the command ran or while the control plane settled
  125  ctrlplane failed: the control plane did not start, exited, did not stop, or did
       not settle in 1m without --timeout; another attempt may succeed
  126  the command cannot be executed
  127  the command was not found

--settle waits, after the command has succeeded, until no controller has anything left
to do, and for the next sync of each HorizontalPodAutoscaler that is not healthy, which
takes 15s: the one before may have found no metrics yet. It says which objects are not
healthy then and, as "ctrlplane wait settled" does, which operators do not run and what
fails though all has settled: that does not make the run fail. Assertions do:
--healthy if there are such objects; --max-conflicts and --max-failed-syncs if
controllers had more conflicts or failures than that; --no-hot-loop if work causes
itself at least 10 times in a row without creating or deleting anything, at least
twice a second. What a controller retried successfully counts, too; the start of the
control plane itself does not. The evidence is printed on stderr, and is in the report.
An object of -f that no longer exists is not healthy, unless the command has deleted it.
A Job that its ttlSecondsAfterFinished has deleted counts as it ended.

--report writes a page about what every controller did, and files for other
programs, however the run ends: report.html, output.log, events.jsonl,
junit.xml, objects.yaml and ctrlplane.log. The page, junit.xml and the summary of the
job also have the last log lines of containers that failed or are not ready, and the
last lines that a failed command printed. stdout and stderr of the command are pipes
then. On GitHub Actions and GitLab it also adds a short summary to the job. With
--bare, objects that are not healthy fail test cases of junit.xml only if --settle or
--healthy is given.

With --report, --settle or an assertion, a line before the verdict names the programs
and probes of Pods that were simulated, not run: nothing is known of these.

A run with --report, --settle or --healthy that fails also names what was not healthy
when a client deleted it, as test tools do after a failure; the page has it of each run.

--kubernetes with several versions runs the command once for each, up to --jobs at
a time. Each run has its own control plane, its output lines begin with the version,
and its report is in a folder of that name below --report. At the end a table on
stderr says how each run ended; the exit code is that of the first version that
failed.`

func newRunCommand(t *target) *cobra.Command {
	r := &runCommand{up: &upCommand{target: t, ephemeralName: nameOfRun}, finishing: make(chan struct{})}
	r.up.server.Private = true
	r.expired, r.expire = context.WithCancel(context.Background())
	r.output = endableStderr(r.expired)
	r.report.output = r.output
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG…]",
		Short: "Start a control plane, run a command with it, and stop it",
		Long:  runHelp,
		Example: `  ctrlplane run -- go test ./...
  go test -exec 'ctrlplane run --' ./...    # a control plane for each package
  go test -exec 'ctrlplane run --bare --' ./...    # the same, like envtest without controllers
  ctrlplane run -f crds/ --nodes 3 --timeout 10m -- make e2e
  ctrlplane run --settle --healthy -- kubectl apply -f manifests/
  ctrlplane run --max-conflicts my-operator=0 --no-hot-loop -- go test ./...
  ctrlplane run --kubernetes 1.35,1.36,1.37 -- go test ./...
  ctrlplane run --settle --report out/ -f manifests/ -- go test ./...
  ctrlplane run -- sh -c 'kubectl apply -f x.yaml && ctrlplane wait -f x.yaml'`,
		Args: requireCommand(""),
		RunE: r.up.runWrapped(r.runEach),
	}
	r.command = cmd
	r.addFlags(cmd)
	return cmd
}

func (r *runCommand) addFlags(cmd *cobra.Command) {
	r.up.addWrapperFlags(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&r.matrix.versions, "kubernetes", nil, kubernetesFlagHelp+"; with several, run the command once for each")
	f.IntVar(&r.matrix.jobs, "jobs", 0, "with several versions of Kubernetes, how many runs are concurrent (default: half the processors)")
	f.BoolVar(&r.settle, "settle", false, "after the command has succeeded, wait until the control plane has settled")
	f.DurationVar(&r.timeout, "timeout", 0, "how long the command may take, including settling; then it gets SIGTERM, and SIGKILL 10s later (default: no limit, and 1m to settle)")
	r.assertions.addFlags(f)
	f.Var(&onceString{value: &r.report.dir}, "report", "folder to write a report of the run to")
	f.StringVar(&r.report.jobLog, jobLogFlag, "", "file for what a CI service reads in the job's log")
	_ = f.MarkHidden(jobLogFlag) // of a run with one of several versions
	r.report.flagGiven = func() bool { return f.Changed("report") }
}

func (r *runCommand) validate(ctx context.Context) error {
	if r.timeout < 0 {
		return usage.Errorf("--timeout: %v is negative", r.timeout)
	}
	if r.settle && r.up.server.Observe.Records < 0 {
		return usage.Errorf("--settle needs observation, which --observe-records %d turns off: use one of them", r.up.server.Observe.Records)
	}
	if err := r.assertions.validate(r.up.server.Observe.Records); err != nil {
		return err
	}
	if err := r.report.validate(r.up.server.Observe.Records); err != nil {
		return err
	}
	return r.up.prepareServer(ctx)
}

// run returns the exit code, and the error that explains it if it is not the
// command's own.
func (r *runCommand) run(ctx context.Context, args []string) (code int, err error) {
	if err := r.validate(ctx); err != nil {
		return exitFailure, err
	}
	r.signals = listenForSignals()
	defer r.signals.stop()
	r.earlyInterrupted = sync.OnceValue(r.awaitEarlySignal)
	// Until the command runs, a second signal ends this process at once.
	stopWatching := context.AfterFunc(ctx, func() {
		r.signals.stop()
		r.earlyInterrupted()
	})
	defer stopWatching()
	if err := r.report.open(r.up, args); err != nil {
		return exitFailure, err
	}
	var c *commandProcess
	ready := false // the control plane
	defer func() {
		code, err = r.end(c, ready, code, err)
		err = r.printExpired(err)
	}()
	if err := r.loadApplied(ctx); err != nil {
		return r.startFailure(ctx, report.StartManifests, err)
	}
	if c, err = newCommandProcess(args); err != nil {
		return startExitCode(err), err
	}
	if r.report.report != nil {
		c.recordOutput(r.report.report.RecordOutput)
	}
	if err := r.startPlane(ctx, c); err != nil {
		what := report.StartControlPlane
		if _, refused := errors.AsType[*manifests.Errors](err); refused {
			what = report.StartManifests
		}
		return r.startFailure(ctx, what, err)
	}
	ready = true
	if err := r.up.account.writeKubeconfig(ctx, r.up.server.DataDir(), r.up.server.RESTConfig()); err != nil {
		return r.startFailure(ctx, report.StartControlPlane, err)
	}
	stopWatching()
	if ctx.Err() != nil {
		return r.startFailure(ctx, report.StartControlPlane, errors.New("interrupted before the command was started"))
	}
	r.followDeletions(ctx)
	return r.runToEnd(c)
}

// followDeletions begins to look for what clients delete while it is not healthy, if the end of the run says so.
func (r *runCommand) followDeletions(ctx context.Context) {
	s := &r.up.server
	if !r.needsState() || s.Observer() == nil {
		return
	}
	var err error
	if r.deletions, err = report.FollowDeletions(ctx, s.ReaderConfig(), s.Observer(), r.up.bare); err != nil {
		printWarning("what clients delete is not examined: " + err.Error())
	}
}

// startFailure returns the exit code for an error before the command, and the error. The junit.xml of a report has a test case that is called what.
func (r *runCommand) startFailure(ctx context.Context, what string, err error) (int, error) {
	r.report.setNotRun(what)
	if ctx.Err() != nil {
		r.interrupt(r.earlyInterrupted())
		return signalExitCode(r.interrupted), err
	}
	return exitFailure, err
}

// runToEnd runs the command and, with --settle, waits until the control plane has
// settled.
func (r *runCommand) runToEnd(c *commandProcess) (int, error) {
	began := time.Now()
	r.report.beginStage(report.StageCommand)
	r.signals.addCommandSignals()
	s := &r.up.server
	if err := c.start(r.up.account.kubeconfigPath(s.DataDir()), s.URL()); err != nil {
		return startExitCode(err), err
	}
	if code, err := r.waitForExit(c); err != nil || code != 0 || !r.settle && !r.assertions.rules.NoHotLoop {
		return code, err
	}
	r.report.beginStage(report.StageSettling)
	return r.waitSettled(began)
}

// settleOrLoop waits until the control plane has settled, with --settle, and returns what
// does not work then. With --no-hot-loop it ends early if it finds a loop, which never
// settles, and looks for one again at its end; the assertion reports it.
func (r *runCommand) settleOrLoop(ctx context.Context, src observe.Source) (warnings []string, err error) {
	if r.assertions.rules.NoHotLoop {
		if err := watchForLoops(ctx, src); err != nil {
			return nil, err
		}
	}
	if !r.settle {
		return nil, nil
	}
	if err := r.waitUntilSettled(ctx, src); err != nil {
		return nil, err
	}
	missed, err := r.waitForAutoscalers(ctx, src)
	if err != nil {
		return nil, err
	}
	warnings, err = settledWarnings(context.WithoutCancel(ctx), src) // also if the time is over
	return append(missed, warnings...), err
}

// waitUntilSettled waits until the control plane has settled. If it does not, with --no-hot-loop the error is a loop if there is one.
func (r *runCommand) waitUntilSettled(ctx context.Context, src observe.Source) error {
	err := settled.Wait(ctx, src, settleHorizon, nil)
	if busy, ok := errors.AsType[*settled.BusyError](err); ok && r.assertions.rules.NoHotLoop {
		return cmp.Or(findLoop(ctx, src, busy), err) // it may have been too slow at first, or have begun later
	}
	return err
}

// waitSettled waits for what --settle and --no-hot-loop ask for.
func (r *runCommand) waitSettled(began time.Time) (int, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	limit, within := began.Add(r.timeout), r.timeout
	if r.timeout == 0 {
		limit, within = time.Now().Add(settleTimeout), settleTimeout
	}
	bounded, stop := context.WithDeadlineCause(ctx, limit, fmt.Errorf("timed out after %v", within))
	defer stop()
	var warnings []string // these two are final once ended is closed
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		warnings, err = r.settleOrLoop(bounded, r.up.server.Observer())
	}()
	select {
	case <-ended:
		code := 0
		_, loop := errors.AsType[*hotLoopError](err)
		switch {
		case loop: // the exit code is that of --no-hot-loop
		case err != nil && r.timeout > 0 && bounded.Err() != nil:
			code = exitTimeout
			r.expire()
		case err != nil:
			code = exitFailure
		}
		if busy, ok := errors.AsType[*settled.BusyError](err); ok && r.settle {
			for _, w := range busy.Work {
				fmt.Fprintf(r.output, "ctrlplane: %s\n", words.OneLine(w.String()))
			}
		}
		for _, line := range warnings {
			fmt.Fprintf(r.output, "ctrlplane: %s\n", line)
		}
		code, err = r.settledOrNot(code, err, warnings...)
		if loop {
			err = nil
		}
		return code, err
	case sig := <-r.signals.ch:
		r.noteSignal(sig, "")
		r.interrupt(sig)
		cancel(errors.New("interrupted"))
		<-ended
		return r.settledOrNot(signalExitCode(sig), errors.New("not settled: interrupted"))
	case <-r.up.server.Done():
		cancel(nil)
		<-ended
		return r.settledOrNot(exitFailure, fmt.Errorf("not settled: the control plane has exited: %w", r.up.server.Err()))
	}
}

// settledOrNot records whether --settle holds: the command itself has succeeded.
func (r *runCommand) settledOrNot(code int, err error, warnings ...string) (int, error) {
	if r.settle {
		result := assert.Result{Rule: assert.Settle, Warnings: warnings}
		if err != nil {
			result.Failure = err.Error()
		}
		if busy, ok := errors.AsType[*settled.BusyError](err); ok {
			for _, w := range busy.Work {
				result.Evidence = append(result.Evidence, w.String())
			}
		}
		r.report.addAssertions(result)
	}
	return code, err
}
