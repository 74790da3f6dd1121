package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ctrlplane/ctrlplane/control"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// findSiblings returns other clients than the named ones over the connections of these, as a process with several user agents
// has them, by the names that the verbs of clients accept.
func findSiblings(ctx context.Context, client *controlrest.Client, names []string, is func(observe.Client) bool) (siblings []string, err error) {
	list, err := client.Clients(ctx)
	if err != nil {
		return nil, err
	}
	return namesOf(list, func(c observe.Client) bool { return isSibling(c, names) && is(c) }), nil
}

// isSibling reports whether a client shares the connection of one of those named, and is none of them.
func isSibling(c observe.Client, names []string) bool {
	isNamed := func(name string) bool { return slices.Contains(names, name) }
	return !isNamed(c.Name) && slices.ContainsFunc(c.SharesConnection, isNamed)
}

// namesOf returns the names, as the verbs of clients accept them, of some of all clients.
func namesOf(all []observe.Client, is func(observe.Client) bool) (names []string) {
	nameOf, isConnected := func(c observe.Client) string { return c.Name }, func(c observe.Client) bool { return c.Connected }
	for _, c := range all {
		if !is(c) {
			continue
		}
		name := observe.ProgramOf(c.Name)
		if found := observe.ClientsNamed(all, name, nameOf, isConnected); len(found) != 1 || found[0].Name != c.Name {
			name = c.Name
		}
		names = append(names, name)
	}
	return names
}

// hintAtSiblings says which other clients of the same process an intervention has left out, with the command for them.
func hintAtSiblings(cmd *cobra.Command, t *target, client *controlrest.Client, names, changed []string) error {
	siblings, err := findSiblings(cmd.Context(), client, changed, func(c observe.Client) bool {
		switch verb := cmd.Name(); verb {
		case control.Pause, control.Resume:
			return (c.State == observe.StatePaused) == (verb == control.Resume)
		case control.Clear:
			return c.Interventions.AffectCalls()
		}
		return true
	})
	if err != nil || len(siblings) == 0 {
		return err
	}
	line := []string{"clients", cmd.Name()}
	for _, word := range slices.Concat(siblings, cmd.Flags().Args()[len(names):]) { // a delay has a duration
		line = append(line, quoteWord(words.OneLine(word)))
	}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			line = append(line, "--"+f.Name, quoteWord(f.Value.String()))
		}
	})
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s over the same connection, most likely of the same process: %s\n",
		words.Count(len(siblings), "other client"), t.commandLine(strings.Join(line, " ")))
	return err
}
