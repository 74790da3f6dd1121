package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

func newClientsCommand(t *target) *cobra.Command {
	output := newListOutput()
	cmd := &cobra.Command{
		Use:   "clients",
		Short: "List the programs that use the API server; pause, step, delay and fail them",
		Long: `List the programs outside of the control plane that have used its API server, such as
kubectl or an operator: the requests per second, the requests, errors and conflicts
since the start, the open watches, and the last request. A client is named after its
program and its user; the program alone is enough where it has one client, or one that
is connected. The program is that in the user agent, or, if that is the name of a
library, on Linux, the script or module that the process runs, such as site_operator.py.
A process with several other user agents has several clients, which share its
connection.

The verb roles prints the RBAC roles that a client needs. The others intervene in
clients, in the API server: nothing needs to change in the client. A write of a paused
client waits until it is released or the client cancels it: held lists those that wait,
step releases the next one, resume all of them.
Requests for ctrlplane's own API are never held, delayed or failed. Its other requests,
such as those of wait, are those of the client ctrlplane, which --all leaves out.`,
		Example: `  ctrlplane clients
  ctrlplane clients -o wide
  ctrlplane clients roles shop-operator
  ctrlplane clients pause shop-operator
  ctrlplane clients step shop-operator
  ctrlplane clients fail shop-operator --rate 0.3 --code 409
  ctrlplane clients resume --all`,
		Args: rejectUnknownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return showClients(cmd, t, output) },
	}
	output.add(cmd)
	addGroup(cmd, "list", "List:", newListVerb(t, "clients", "List the programs that use the API server", showClients), newRolesCommand(t))
	addInterventionVerbs(cmd, t, clientActors)
	return cmd
}

func showClients(cmd *cobra.Command, t *target, output *outputFlag) error {
	client, err := t.controlClient()
	if err != nil {
		return err
	}
	list, err := client.Clients(cmd.Context())
	if err != nil {
		return err
	}
	return printClients(cmd.OutOrStdout(), list, output)
}

func printClients(out io.Writer, list []observe.Client, output *outputFlag) error {
	name := func(c observe.Client) string { return c.Name }
	if done, err := writeList(output, out, control.ClientList{Items: list}, list, name); done {
		return err
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "no client has sent a request yet")
		return err
	}
	return ui.WriteClients(out, list, output.format == outputWide, statusWidth())
}
