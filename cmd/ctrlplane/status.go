package main

import (
	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/ui"
)

func newStatusCommand(t *target) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Print once what the live view shows: ready, settled, queues, controllers",
		Long: `Print whether the control plane is ready and settled, which work queues have had
work and which controllers do not run, as the live view shows them. Settled
means that no key waits or is worked on in any queue, and that nothing has been
written or delivered for half a second.`,
		Example: `  ctrlplane status
  ctrlplane status -o wide
  ctrlplane status -o json | jq .process.settled`,
		Args: rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := ui.CheckStatusFormat(output); err != nil {
				return usage.Errorf("--output: %w", err)
			}
			_, s, err := t.attach(cmd.Context())
			if err != nil {
				return err
			}
			return ui.WriteStatus(cmd.OutOrStdout(), s, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: wide, json or yaml")
	return cmd
}
