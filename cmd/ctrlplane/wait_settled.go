package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/useragent"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
	"github.com/ctrlplane/ctrlplane/ui"
)

const waitSettledHelp = `Wait until the control plane has settled: no key is queued or in progress in any
controller or in the scheduler, no delayed key is due within the horizon, no write
is in flight, and every event handler has received the last write to the resource
that it watches. Leases and events do not count. Held writes of a paused controller
do, and so does a liveness probe on a simulated node that has failed, but not often
enough yet to restart its container.

Unnamed queues and the informers of the scheduler and of the simulated nodes cannot
be observed. For these, nothing must have been written, delivered or synced for
20 ms and no goroutine of the process must be runnable, or nothing for half a second
if the process is never idle. A program that waits for longer between two writes is not
known to go on. Timers outside of queues are unknown, such as those of
tolerations and of periodic checks of nodes and volumes. With --etcd-endpoints writes
are not observed in the store: nothing must have happened for half a second, and an
event may still be in flight.

If the control plane does not settle in time, the exit code is 1, and stderr says
what each busy controller still has to do, one line per controller, which hot loops
go on, and which writes an operator tries again and again and that fail.

A control plane that waits for the lease of another process (--leader-elect) is not
settled: wait in that of the leader, which stderr names.

A controller of an operator counts as busy while it is being started, waits to be the
leader or is being stopped, and for 10 s after its process has closed its connection
without a last report. After that, or after a last report, it is off and does not
count. Keys that fail and are due later do not count either, nor do Pods that cannot
start, wait for a restart (CrashLoopBackOff), are unschedulable or have failed, nor
failed Jobs, nor Nodes that are not Ready, nor clients that are paused or delayed,
whose lists and watches are refused, or a write of which fails again and again. All
of these are said on stderr.`

func newWaitSettled(w *waitCommand) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "settled",
		Short: "Wait until the control plane has settled",
		Long:  waitSettledHelp,
		Example: `  ctrlplane wait settled
  ctrlplane wait settled --timeout 10s --horizon 5s`,
		Args: rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return w.waitSettled(cmd.Context(), cmd.ErrOrStderr()) },
	}
	cmd.Flags().DurationVar(&w.horizon, "horizon", time.Second, "ignore delayed keys that are due later than this")
	return cmd
}

func (w *waitCommand) waitSettled(ctx context.Context, out io.Writer) error {
	if err := w.validateTimeout(); err != nil {
		return err
	}
	if w.horizon < 0 {
		return usage.Errorf("--horizon: %v is negative: use 0s or more", w.horizon)
	}
	outer := ctx
	ctx, cancel := withTimeout(ctx, w.timeout)
	defer cancel()
	src, _, err := w.target.connectView(ctx)
	if err != nil {
		return w.explainNoAnswer(ctx, err)
	}
	var progress func([]settled.Work)
	if !w.quiet {
		progress = func(work []settled.Work) { printRemainingWork(out, work) }
	}
	err = settled.Wait(ctx, src, w.horizon, progress)
	if err == nil && !w.quiet {
		warnings, err := settledWarnings(ctx, src)
		return errors.Join(err, printLines(out, warnings), w.target.printHowToRemoveEnded(ctx, src, out))
	}
	if busy, ok := errors.AsType[*settled.BusyError](err); ok {
		printRemainingWork(out, busy.Work)
		w.target.printUnavailableAPIs(outer, out, busy.Work)
		after, cancel := context.WithTimeout(outer, loopTimeout)
		defer cancel()
		loops, loopErr := assert.FindLoops(after, src, time.Now())
		if loopErr == nil {
			w.target.nameFields(after, loops)
			loopErr = w.target.printHotLoops(out, loops, 0)
		}
		if loopErr == nil {
			loopErr = printFailingWrites(after, src, out)
		}
		if loopErr != nil {
			err = fmt.Errorf("%w; cannot search for hot loops and failing writes: %w", err, loopErr)
		}
	}
	return err
}

// printUnavailableAPIs prints which APIServices are not available, if the API server is busy: it may be with those that do not answer.
func (t *target) printUnavailableAPIs(ctx context.Context, out io.Writer, work []settled.Work) {
	if !slices.ContainsFunc(work, func(w settled.Work) bool { return w.Where == useragent.APIServer }) {
		return
	}
	cfg, err := t.restConfig()
	if err != nil {
		return
	}
	waiter, err := health.New(cfg)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	for _, api := range waiter.UnavailableAPIs(ctx) {
		fmt.Fprintf(out, "%s: %s\n", useragent.APIServer, words.OneLine(api))
	}
}

// explainNoAnswer says what to do if the control plane has not answered in time.
func (w *waitCommand) explainNoAnswer(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = context.Cause(ctx)
	} else if failed, ok := errors.AsType[net.Error](err); !ok || !failed.Timeout() {
		return err
	}
	return fmt.Errorf("%w: %w: %s", health.ErrNoAnswer, err, w.target.noAnswerHint())
}

// settledWarnings says what does not work though nothing is left to be done, one line each.
func settledWarnings(ctx context.Context, src observe.Source) ([]string, error) {
	s, err := src.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	failing, err := trace.FindFailingWrites(ctx, src, s)
	if err != nil {
		return nil, err
	}
	if err = trace.ExplainMissingStatus(ctx, src, &s); err != nil {
		return nil, err
	}
	lines := ui.SettledWarnings(s, failing)
	for i := range lines {
		lines[i] = words.OneLine(lines[i])
	}
	return lines, nil
}

// printHowToRemoveEnded prints the command that removes the controllers of operators whose process has ended, if there are any.
func (t *target) printHowToRemoveEnded(ctx context.Context, src observe.Source, out io.Writer) error {
	s, err := src.Snapshot(ctx)
	if err != nil {
		return err
	}
	var names []string
	for i := range s.Controllers {
		if c := &s.Controllers[i]; c.HasEnded() && !c.IsSilent() {
			names = append(names, quoteWord(words.OneLine(c.Name)))
		}
	}
	if len(names) == 0 {
		return nil
	}
	_, err = fmt.Fprintf(out, "an operator that has ended is listed until it is started again, or removed with %s\n", t.quoteCommand("controllers remove "+strings.Join(names, " ")))
	return err
}

// printFailingWrites prints the writes that clients try again and again and that fail.
func printFailingWrites(ctx context.Context, src observe.Source, out io.Writer) error {
	s, err := src.Snapshot(ctx)
	if err != nil {
		return err
	}
	failing, err := trace.FindFailingWrites(ctx, src, s)
	return errors.Join(err, printLines(out, ui.FailingWriteLines(failing)))
}

// loopTimeout bounds the search for hot loops and failing writes after the wait has timed out.
const loopTimeout = 5 * time.Second

func printRemainingWork(out io.Writer, work []settled.Work) {
	for _, w := range work {
		fmt.Fprintln(out, words.OneLine(w.String()))
	}
}
