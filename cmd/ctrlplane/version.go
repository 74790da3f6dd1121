package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/api/v3/version"

	"github.com/ctrlplane/ctrlplane"
)

// versions are what "ctrlplane version" prints.
type versions struct {
	Ctrlplane  string   `json:"ctrlplane"`
	Kubernetes string   `json:"kubernetes"`
	Emulates   []string `json:"emulates"` // the minor versions for --kubernetes
	Etcd       string   `json:"etcd"`
	Go         string   `json:"go"`
	Platform   string   `json:"platform"`
}

func newVersions() versions {
	return versions{
		Ctrlplane: ctrlplane.Version(), Kubernetes: ctrlplane.KubernetesVersion, Emulates: ctrlplane.KubernetesVersions(),
		Etcd: "v" + version.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

func newVersionCommand() *cobra.Command {
	output := newObjectOutput()
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of ctrlplane, Kubernetes, etcd and Go",
		Example: `  ctrlplane version
  ctrlplane version -o json | jq -r .kubernetes`,
		Args: rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if done, err := output.writeObject(cmd.OutOrStdout(), newVersions()); done {
				return err
			}
			return printVersion(cmd.OutOrStdout())
		},
	}
	output.add(cmd)
	return cmd
}

func printVersion(out io.Writer) error {
	v := newVersions()
	_, err := fmt.Fprintf(out, "ctrlplane %s\nKubernetes %s (can emulate %s to %s)\netcd %s\n%s %s\n",
		v.Ctrlplane, v.Kubernetes, v.Emulates[0], v.Emulates[len(v.Emulates)-1], v.Etcd, v.Go, v.Platform)
	return err
}
