package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

func newRootCommand() *cobra.Command {
	t := &target{}
	root := &cobra.Command{
		Use:   "ctrlplane",
		Short: "A Kubernetes control plane in one process",
		Long: `ctrlplane runs etcd, the Kubernetes API server and every controller of the
controller manager in one process: no containers, no downloads, no network.`,
		Example: `  ctrlplane up                         start one, or the same one again
  ctrlplane up --ephemeral             start one that leaves nothing behind
  ctrlplane kubectl get namespaces     in another shell
  ctrlplane top                        watch what every controller's queue is doing
  ctrlplane status                     the same once, as a table
  ctrlplane controllers                what runs in it`,
		Args:             rejectUnknownVerb,
		RunE:             func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:    true,
		SilenceUsage:     true,
		TraverseChildren: true,
	}
	t.addFlags(root)
	root.SetFlagErrorFunc(wrapFlagError)
	root.AddCommand(newUpCommand(t), newRunCommand(t), newTopCommand(t), newStatusCommand(t), newWaitCommand(t), newTraceCommand(t), newWhyCommand(t), newExplainCommand(t), newLearnCommand(t), newControllersCommand(t), newNodesCommand(t), newSnapshotCommand(t), newResetCommand(t), newKubeconfigCommand(t), newKubectlCommand(t), newVersionCommand(), newChildCommand(t))
	return root
}

func rejectUnknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, c := range cmd.Commands() {
		known = append(known, c.Name())
	}
	hint := `see "ctrlplane --help"`
	if near, ok := suggest.Nearest(args[0], known); ok {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return usage.Errorf("unknown verb %q: %s", args[0], hint)
}

func rejectArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage.Errorf(`%s takes no arguments, got %q: see "%s --help"`, cmd.CommandPath(), args[0], cmd.CommandPath())
}

func wrapFlagError(cmd *cobra.Command, err error) error {
	return usage.Errorf(`%w: see "%s --help"`, err, cmd.CommandPath())
}

func exitCode(err error) int {
	var bad usage.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &bad):
		return 2
	}
	return 1
}

func singleLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
