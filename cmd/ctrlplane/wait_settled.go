package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

func newWaitSettled(w *waiting) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "settled",
		Short: "Wait until nothing is left to do in any controller",
		Long: `Wait until no key is queued or in flight in any controller, none that failed is
to be retried within the horizon, and nothing has been written or delivered for
half a second: what unnamed queues and timers do cannot be seen, and is covered
by that pause only. Leases and events do not count.

If that takes too long the exit code is 1, and stderr says who is still busy and
with what, a line a controller.`,
		Example: `  ctrlplane wait settled
  ctrlplane wait settled --timeout 10s --horizon 5s`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return w.settled(cmd.Context(), cmd.ErrOrStderr()) },
	}
	cmd.Flags().DurationVar(&w.horizon, "horizon", time.Second, "retries that are further away do not count")
	return cmd
}

func (w *waiting) settled(ctx context.Context, out io.Writer) error {
	if err := w.checkTimeout(); err != nil {
		return err
	}
	if w.horizon < 0 {
		return usage.Errorf("--horizon: %v is less than 0", w.horizon)
	}
	src, _, err := w.target.attach(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := w.bounded(ctx)
	defer cancel()
	var progress func([]settled.Work)
	if !w.quiet {
		progress = func(work []settled.Work) { printWork(out, work) }
	}
	err = settled.Wait(ctx, src, w.horizon, progress)
	if busy, ok := errors.AsType[*settled.BusyError](err); ok {
		printWork(out, busy.Work)
	}
	return err
}

func printWork(out io.Writer, work []settled.Work) {
	for _, w := range work {
		fmt.Fprintln(out, w)
	}
}
