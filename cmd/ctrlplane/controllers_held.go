package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

func newHeldCommand(t *target, a actors) *cobra.Command {
	output := newListOutput()
	var limit int
	cmd := &cobra.Command{
		Use:   "held NAME",
		Short: "List the held writes of a paused " + a.noun,
		Example: fmt.Sprintf(`  ctrlplane %[1]s held %[2]s
  ctrlplane %[1]s held %[2]s -o json | jq '.items[0].body'`, a.plural, a.examples[0]),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage.Errorf("%s held takes the name of one %s, got %d: %q lists them", a.plural, a.noun, len(args), "ctrlplane "+a.plural)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return usage.Errorf("--limit: %d is less than 1: use 1 or more", limit)
			}
			client, err := t.controlClient()
			if err != nil {
				return err
			}
			list, err := a.interventions(client).HeldWrites(cmd.Context(), a.expandName(args[0]), limit)
			if err != nil {
				return err
			}
			if !list.Paused {
				return usage.Errorf("%s %s is not paused: pause it first", a.noun, list.Controller)
			}
			name := func(h control.HeldWrite) string { return h.Object.String() }
			if done, err := writeList(output, cmd.OutOrStdout(), list, list.Items, name); done {
				return err
			}
			return printHeldWrites(cmd.OutOrStdout(), list)
		},
	}
	output.add(cmd)
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of writes to list, oldest first")
	return cmd
}

func printHeldWrites(out io.Writer, list control.HeldWriteList) error {
	if list.Total == 0 {
		_, err := fmt.Fprintln(out, "no writes are held")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VERB\tOBJECT\tHELD FOR")
	for _, h := range list.Items {
		verb, object, _ := strings.Cut(words.OneLine(h.String()), " ")
		fmt.Fprintf(w, "%s\t%s\t%s\n", verb, object, duration.HumanDuration(time.Since(h.Since)))
	}
	if more := list.Total - len(list.Items); more > 0 {
		fmt.Fprintf(w, "and %d more\n", more)
	}
	return w.Flush()
}
