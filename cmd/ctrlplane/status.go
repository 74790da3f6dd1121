package main

import (
	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/ui"
)

func newStatusCommand(t *target) *cobra.Command {
	output := newOutput(outputWide, outputJSON, outputYAML)
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show once whether it is ready and settled, its work queues and its controllers",
		Long: `Show whether the control plane is ready and settled, the work queues that have had
work, and the controllers that are not running, as the live view does. Settled
means that no key of a controller is queued, in progress or due within a second,
no write is in flight, every informer has caught up with the last write, and
nothing has been written, delivered or synced for a moment: 10 ms while the process
is idle, half a second otherwise.`,
		Example: `  ctrlplane status
  ctrlplane status -o wide
  ctrlplane status -o json | jq .process.settled`,
		Args: rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, s, err := t.connectView(cmd.Context())
			if err != nil {
				return err
			}
			return ui.WriteStatus(cmd.OutOrStdout(), s, output.format)
		},
	}
	output.add(cmd)
	return cmd
}
