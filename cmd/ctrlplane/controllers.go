package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

func newControllers(t *target) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "controllers",
		Short: "List every controller: its aliases, whether it runs and, if not, why",
		Long: `List every controller of a running control plane with its aliases, its state
and, where it does not run, the reason; where no control plane runs, what "up"
would run. The names and the aliases are what "up --controllers" takes.`,
		Example: `  ctrlplane controllers
  ctrlplane controllers -o json
  ctrlplane controllers pause replicaset
  ctrlplane controllers step replicaset 3
  ctrlplane controllers resume --all`,
		Args: noVerb,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return usage.Errorf("--output: %q is not known: use json, or leave it out", output)
			}
			list, err := listControllers(cmd.Context(), t)
			if err != nil {
				return err
			}
			if output == "json" {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(control.ControllerList{Items: list})
			}
			return printControllers(cmd.OutOrStdout(), list)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json")
	cmd.AddCommand(controllersVerbs(t)...)
	return cmd
}

// listControllers asks the control plane that runs or, where none is named and
// none runs, tells what would.
func listControllers(ctx context.Context, t *target) ([]control.Controller, error) {
	cfg, err := t.restConfig()
	if errors.As(err, new(notRunning)) && !t.named() {
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
	client, err := control.NewClient(cfg)
	if err != nil {
		return nil, err
	}
	return client.Controllers(ctx)
}

func printControllers(out io.Writer, list []control.Controller) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tALIASES\tREASON")
	for _, c := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.Name, c.State, strings.Join(c.Aliases, ","), c.Reason)
	}
	return w.Flush()
}
