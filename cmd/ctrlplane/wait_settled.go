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

func newWaitSettled(w *waitCommand) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "settled",
		Short: "Wait until nothing is left to do in any controller",
		Long: `Wait until no key is queued or worked on in any controller or in the scheduler,
none that was put back, to be retried or at a time of its own, comes within the
horizon, no write of a controller is on its way, and every event handler has been
told of the last write to what it watches. Leases and events do not count.
Writes of a paused controller that are held do.

Some things cannot be seen: queues without a name, informers of the scheduler
and of the simulated nodes. They are covered by a pause: nothing has been
written, delivered or synced for 10 ms, and then nothing in the whole process
wants to run; or nothing for half a second, where the process is never idle. Of
timers outside of queues, such as those of tolerations and of the periodic
checks of nodes and volumes, nothing is known. With --etcd-endpoints writes are
not seen in the store, so that events may be under way.

If that takes too long the exit code is 1, and stderr says who is still busy and
with what, a line a controller.`,
		Example: `  ctrlplane wait settled
  ctrlplane wait settled --timeout 10s --horizon 5s`,
		Args: rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return w.waitSettled(cmd.Context(), cmd.ErrOrStderr()) },
	}
	cmd.Flags().DurationVar(&w.horizon, "horizon", time.Second, "keys that come later than this from now do not count")
	return cmd
}

func (w *waitCommand) waitSettled(ctx context.Context, out io.Writer) error {
	if err := w.validateTimeout(); err != nil {
		return err
	}
	if w.horizon < 0 {
		return usage.Errorf("--horizon: %v is less than 0", w.horizon)
	}
	src, _, err := w.target.attach(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := w.withTimeout(ctx)
	defer cancel()
	var progress func([]settled.Work)
	if !w.quiet {
		progress = func(work []settled.Work) { printRemainingWork(out, work) }
	}
	err = settled.Wait(ctx, src, w.horizon, progress)
	if busy, ok := errors.AsType[*settled.BusyError](err); ok {
		printRemainingWork(out, busy.Work)
	}
	return err
}

func printRemainingWork(out io.Writer, work []settled.Work) {
	for _, w := range work {
		fmt.Fprintln(out, w)
	}
}
