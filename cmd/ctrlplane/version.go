package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/api/v3/version"

	"github.com/ctrlplane/ctrlplane"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of ctrlplane and of what it is made of",
		Args:  rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "ctrlplane %s\nKubernetes %s\netcd v%s\n%s %s/%s\n",
				ctrlplane.Version(), ctrlplane.KubernetesVersion, version.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
