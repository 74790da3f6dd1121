package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/api/v3/version"

	"github.com/ctrlplane/ctrlplane"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of ctrlplane, Kubernetes, etcd and Go",
		Args:  rejectArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return printVersion(cmd.OutOrStdout()) },
	}
}

func printVersion(out io.Writer) error {
	versions := ctrlplane.KubernetesVersions()
	_, err := fmt.Fprintf(out, "ctrlplane %s\nKubernetes %s (can emulate %s to %s)\netcd v%s\n%s %s/%s\n",
		ctrlplane.Version(), ctrlplane.KubernetesVersion, versions[0], versions[len(versions)-1], version.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
