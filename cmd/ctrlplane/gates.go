package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

func newControllersStep(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "step NAME [N]",
		Short: "Let the next N writes of a paused controller through, one at a time",
		Long: `Let the next N writes of a paused controller through, one if N is left out. Each
is answered before the next one goes, and is printed then. Where less is held,
step waits for more; interrupt it to stop waiting.`,
		Example: `  ctrlplane controllers step replicaset
  ctrlplane controllers step replicaset 3`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usage.Errorf("controllers step takes a controller and a number of writes, got %q", args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			n := 1
			if len(args) > 1 {
				var err error
				if n, err = strconv.Atoi(args[1]); err != nil || n < 1 {
					return usage.Errorf("controllers step: %q is not a number of writes: use 1 or more", args[1])
				}
			}
			client, err := t.control()
			if err != nil {
				return err
			}
			return step(cmd.Context(), cmd.OutOrStdout(), client.Gates(), args[0], n)
		},
	}
}

// step asks for one write at a time: whoever goes away leaves at most one under way.
func step(ctx context.Context, out io.Writer, gates control.Gates, name string, n int) error {
	for n > 0 {
		s, err := gates.Step(ctx, name)
		if err != nil {
			return err
		}
		if s == nil { // nothing is held: go on waiting
			continue
		}
		n--
		if _, err := fmt.Fprintf(out, "%s: %s\n", writeLine(s.Held), outcome(s)); err != nil {
			return err
		}
	}
	return nil
}

// writeLine is a write as one would say it: its verb and its object.
func writeLine(h control.Held) string {
	text := h.Verb + " " + h.Object.String()
	if h.Subresource != "" {
		text += " (" + h.Subresource + ")"
	}
	return text
}

func outcome(s *control.Stepped) string {
	switch {
	case s.Error != "" && s.Status != 0:
		return fmt.Sprintf("%d %s", s.Status, s.Error)
	case s.Error != "":
		return s.Error
	}
	return fmt.Sprintf("%d %s", s.Status, http.StatusText(s.Status))
}

func newControllersHeld(t *target) *cobra.Command {
	var output string
	var limit int
	cmd := &cobra.Command{
		Use:   "held NAME",
		Short: "List what a paused controller is about to write",
		Example: `  ctrlplane controllers held replicaset
  ctrlplane controllers held replicaset -o json | jq '.items[0].body'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage.Errorf("controllers held takes one controller, got %q", args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "" && output != "json" {
				return usage.Errorf("--output: %q is not known: use json, or leave it out", output)
			}
			if limit < 1 {
				return usage.Errorf("--limit: choose 1 or more")
			}
			client, err := t.control()
			if err != nil {
				return err
			}
			list, err := client.Gates().Held(cmd.Context(), args[0], limit)
			if err != nil {
				return err
			}
			if output == "json" {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(list)
			}
			return printHeld(cmd.OutOrStdout(), list)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json, which has the objects")
	cmd.Flags().IntVar(&limit, "limit", 100, "list no more than so many, the oldest first")
	return cmd
}

func printHeld(out io.Writer, list control.HeldList) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VERB\tOBJECT\tHELD FOR")
	for _, h := range list.Items {
		verb, object, _ := strings.Cut(writeLine(h), " ")
		fmt.Fprintf(w, "%s\t%s\t%s\n", verb, object, duration.HumanDuration(time.Since(h.Since)))
	}
	if more := list.Total - len(list.Items); more > 0 {
		fmt.Fprintf(w, "and %d more\n", more)
	}
	return w.Flush()
}
