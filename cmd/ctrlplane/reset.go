package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newResetCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "reset",
		Short: "Restore the state that a running control plane had right after its start",
		Long: `Restore the state that a running control plane had right after its start, including
the manifests of "up -f" and the objects that the data folder contained. This works in
the same way as "snapshot restore", and, like that, does not ask first: "snapshot save" keeps
the state that it replaces.`,
		Example: `  ctrlplane reset
  ctrlplane --name demo reset
  ctrlplane snapshot save before && ctrlplane reset`,
		Args: rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			plane, err := t.toChange().running()
			if err != nil {
				return err
			}
			client, err := t.controlClient()
			if err != nil {
				return err
			}
			done, err := client.Snapshots().Reset(cmd.Context())
			if err != nil {
				return t.explainLostRestore(err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s reset: %s\n", plane.describe(), describeRestore(done))
			return err
		},
	}
}
