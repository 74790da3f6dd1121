package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/yamltext"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

func newClientsCommand(t *target) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "clients",
		Short: "List the programs that use the API server; pause, step, delay and fail them",
		Long: `List the programs outside of the control plane that have used its API server, such as
kubectl or an operator: the requests per second, the requests, errors and conflicts
since the start, the open watches, and the last request. A client is named after its
program, as in the user agent, and its user; the program alone is enough where it has
one client.

The other verbs intervene in clients, in the API server: nothing needs to change in
the client. A write of a paused client waits until it is released or the client gives
up. Requests of ctrlplane's own verbs are never held, delayed or failed.`,
		Example: `  ctrlplane clients
  ctrlplane clients -o wide
  ctrlplane clients pause shop-operator
  ctrlplane clients step shop-operator
  ctrlplane clients fail shop-operator --rate 0.3 --code 409
  ctrlplane clients resume --all`,
		Args: rejectUnknownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains([]string{"", "wide", "json", "yaml"}, output) {
				return usage.Errorf("--output: unknown format %q: use wide, json or yaml, or leave it out", output)
			}
			client, err := t.controlClient()
			if err != nil {
				return err
			}
			list, err := client.Clients(cmd.Context())
			if err != nil {
				return err
			}
			return printClients(cmd.OutOrStdout(), list, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: wide, json or yaml")
	addInterventionVerbs(cmd, t, clientActors)
	return cmd
}

func printClients(out io.Writer, list []observe.Client, format string) error {
	switch format {
	case "json":
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(control.ClientList{Items: list})
	case "yaml":
		data, err := yamltext.Marshal(control.ClientList{Items: list})
		if err != nil {
			return err
		}
		_, err = out.Write(data)
		return err
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "no client has sent a request yet")
		return err
	}
	return ui.WriteClients(out, list, format == "wide")
}
