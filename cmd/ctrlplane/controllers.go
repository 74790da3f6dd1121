package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/control"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

func newControllersCommand(t *target) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "controllers",
		Short: "List every controller: its state, workers, queue depth, errors and, if it does not run, why",
		Long: `List every controller of a running control plane: its state, how many workers
its queues have, how many keys wait in them, how many of its calls have failed,
its aliases and, where it does not run or a hand is on it, the reason; where no
control plane runs, what "up" would run. The names and the aliases are what
"up --controllers" takes.`,
		Example: `  ctrlplane controllers
  ctrlplane controllers -o wide
  ctrlplane controllers -o json | jq '.items[] | select(.depth > 0) | .name'
  ctrlplane controllers pause replicaset
  ctrlplane controllers step replicaset 3
  ctrlplane controllers resume --all`,
		Args: rejectUnknownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains([]string{"", "wide", "json", "yaml"}, output) {
				return usage.Errorf("--output: %q is not known: use wide, json or yaml, or leave it out", output)
			}
			list, err := listControllers(cmd.Context(), t)
			if err != nil {
				return err
			}
			return printControllers(cmd.OutOrStdout(), list, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: wide, json or yaml")
	cmd.AddCommand(newControllersVerbs(t)...)
	return cmd
}

// listControllers asks the control plane that runs or, where none is named and
// none runs, tells what would.
func listControllers(ctx context.Context, t *target) ([]control.Controller, error) {
	cfg, err := t.restConfig()
	if errors.As(err, new(notRunningError)) && !t.named() {
		var list []control.Controller
		for _, c := range ctrlplane.Controllers() {
			reason := c.Reason
			if reason == "" {
				reason = `no control plane runs: "ctrlplane up" starts it`
			}
			list = append(list, control.Controller{Name: c.Name, Aliases: c.Aliases, State: string(c.State), Reason: reason})
		}
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	client, err := controlrest.NewClient(cfg)
	if err != nil {
		return nil, err
	}
	return client.Controllers(ctx)
}
