package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/snapshot/objects"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/internal/yamltext"
)

// nowName is the name of the current state in a diff.
const nowName = "now"

func newSnapshotDiff(t *target) *cobra.Command {
	var output string
	var events bool
	cmd := &cobra.Command{
		Use:   "diff A [B]",
		Short: "Compare two snapshots, or a snapshot with the current state",
		Long: `Show which objects differ between two snapshots, or between a snapshot and the current
state, and how. The comparison ignores managedFields, resource versions, Leases and,
without --events, Events. The values of Secrets are masked.`,
		Example: `  ctrlplane snapshot diff base
  ctrlplane snapshot diff base later -o name`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usage.Errorf(`snapshot diff takes one or two names, got %q: "ctrlplane snapshot list" lists them`, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains([]string{"", "json", "yaml", "name"}, output) {
				return usage.Errorf("--output: unknown format %q: use json, yaml or name, or leave it out", output)
			}
			before, err := loadSavedState(args[0])
			if err != nil {
				return err
			}
			var after snapshot.State
			to := nowName
			if len(args) > 1 {
				to = args[1]
				after, err = loadSavedState(to)
			} else {
				after, err = readCurrentState(cmd.Context(), t)
			}
			if err != nil {
				return err
			}
			return printDiff(cmd.OutOrStdout(), objects.Diff(before, after, events), output, args[0], to)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json, yaml or name (default: unified diffs)")
	cmd.Flags().BoolVar(&events, "events", false, "also compare Events")
	return cmd
}

func loadSavedState(name string) (snapshot.State, error) {
	store, err := snapshot.UserStore()
	if err != nil {
		return snapshot.State{}, err
	}
	file, err := store.Load(name)
	if err != nil {
		return snapshot.State{}, err
	}
	_, state, err := snapshot.Decode(file)
	if err != nil {
		return state, fmt.Errorf("cannot use snapshot %q: %w", name, err)
	}
	return state, nil
}

func readCurrentState(ctx context.Context, t *target) (snapshot.State, error) {
	from, err := t.snapshotService()
	if err != nil {
		return snapshot.State{}, err
	}
	file, err := from.Save(ctx)
	if err != nil {
		return snapshot.State{}, err
	}
	_, state, err := snapshot.Decode(file)
	return state, err
}

func printDiff(out io.Writer, list []objects.Difference, output, from, to string) error {
	switch output {
	case "json":
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(map[string]any{"items": list})
	case "yaml":
		text, err := yamltext.Marshal(map[string]any{"items": list})
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	}
	for _, d := range list {
		text := words.OneLine(fmt.Sprintf("%s %s", d, d.Change)) + "\n"
		if output == "" {
			diff, err := d.UnifiedDiff(from, to)
			if err != nil {
				return err
			}
			text = cleanDiff(diff)
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	return nil
}
