package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

func newStatusCommand(t *target) *cobra.Command {
	output := newOutput(outputWide, outputJSON, outputYAML)
	var past recordingFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show once whether it is ready and settled, its work queues and its controllers",
		Long: `Show whether the control plane is ready and settled, the work queues that have had
work, and the controllers that are not running, as the live view does. Settled
means that no key of a controller is queued, in progress or due within a second,
no write is in flight, every informer has caught up with the last write, and
nothing has been written, delivered or synced for a moment: 10 ms while the process
is idle, half a second otherwise. Work that repeats itself without an end, such as that
of a controller whose update causes its next sync, is named below the tables.

With --from it shows what a recording has: of "run --report" or of "up --record".`,
		Example: `  ctrlplane status
  ctrlplane status -o wide
  ctrlplane status -o json | jq .process.settled
  ctrlplane status --from out/ --at 30s`,
		Args: rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			src, err := past.openOr(func() (observe.Source, error) { return t.controlClient() })
			if err != nil {
				return err
			}
			s, err := src.Snapshot(cmd.Context())
			if err != nil {
				return err
			}
			if err := ui.WriteStatus(cmd.OutOrStdout(), s, output.format); err != nil || output.format == outputJSON || output.format == outputYAML {
				return err
			}
			return printHotLoops(cmd.Context(), cmd.OutOrStdout(), src, s.Time)
		},
	}
	output.add(cmd)
	past.add(cmd.Flags())
	return cmd
}

// loopRecords is how many of the newest records are searched for hot loops.
const loopRecords = 4000

// printHotLoops prints a line for each hot loop that goes on at a time.
func printHotLoops(ctx context.Context, out io.Writer, src observe.Source, now time.Time) error {
	page, err := src.Records(ctx, observe.Query{Limit: loopRecords})
	if err != nil {
		return err
	}
	for _, line := range assert.CurrentLoops(page.Records, now) {
		if _, err := fmt.Fprintln(out, "hot loop: "+line); err != nil {
			return err
		}
	}
	return nil
}
