package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane"
)

func newKubeconfigCommand(t *target) *cobra.Command {
	var raw bool
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the kubeconfig, or its content",
		Example: `  export KUBECONFIG="$(ctrlplane kubeconfig)"
  ctrlplane kubeconfig --raw > admin.kubeconfig`,
		Args: rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := t.runningDataDir()
			if err != nil {
				return err
			}
			path := filepath.Join(dir, ctrlplane.KubeconfigFile)
			data, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("kubeconfig: %w", err)
			}
			if raw {
				_, err = cmd.OutOrStdout().Write(data)
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		},
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "print the content, including the private keys")
	return cmd
}
