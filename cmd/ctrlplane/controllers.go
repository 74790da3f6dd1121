package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/control"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
)

func newControllersCommand(t *target) *cobra.Command {
	output := newListOutput()
	cmd := &cobra.Command{
		Use:   "controllers",
		Short: "List all controllers; pause, step, delay, fail, stop and scale them",
		Long: `List all controllers of a running control plane: the state, the workers of the
queues, the queued keys, the failed API calls, the keys that fail, and the reason if a
controller is not running or an intervention applies to it; with "-o wide" the
aliases, too. If the control plane is not running, list the controllers that "up" would
run. "up --controllers" accepts the names and the aliases.

The other verbs intervene in running controllers.`,
		Example: `  ctrlplane controllers
  ctrlplane controllers -o wide
  ctrlplane controllers -o json | jq '.items[] | select(.depth > 0) | .name'
  ctrlplane controllers pause replicaset
  ctrlplane controllers step replicaset 3
  ctrlplane controllers resume --all`,
		Args: rejectUnknownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return showControllers(cmd, t, output) },
	}
	output.add(cmd)
	addGroup(cmd, "list", "List:", newListVerb(t, "controllers", "List all controllers with their state", showControllers))
	addControllersVerbs(cmd, t)
	return cmd
}

func showControllers(cmd *cobra.Command, t *target, output *outputFlag) error {
	list, err := listControllers(cmd.Context(), t)
	if err != nil {
		return err
	}
	return printControllers(cmd.OutOrStdout(), list, output)
}

// listControllers lists the controllers of the running control plane. If none is named
// and none is running, it lists those that "up" would run.
func listControllers(ctx context.Context, t *target) ([]control.Controller, error) {
	cfg, err := t.restConfig()
	if errors.As(err, new(notRunningError)) && !t.named() {
		var list []control.Controller
		for _, c := range ctrlplane.Controllers() {
			reason := c.Reason
			if reason == "" {
				reason = asCalled(`the control plane is not running: "ctrlplane up" starts one`)
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
