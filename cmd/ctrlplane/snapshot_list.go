package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// snapshotList is the output of "snapshot list -o json".
type snapshotList struct {
	Dir   string          `json:"dir"`
	Items []snapshot.Info `json:"items"`
}

func newSnapshotList() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the snapshots, newest first",
		Args:  rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return usage.Errorf("--output: unknown format %q: use json, or leave it out", output)
			}
			store, err := snapshot.UserStore()
			if err != nil {
				return err
			}
			list, err := store.List()
			if err != nil {
				return err
			}
			if output == "json" {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(snapshotList{store.Dir, list})
			}
			return printSnapshots(cmd.OutOrStdout(), list)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json")
	return cmd
}

func printSnapshots(out io.Writer, list []snapshot.Info) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tFROM\tKUBERNETES\tOBJECTS\tSIZE\tAGE")
	for _, l := range list {
		if l.Error != "" {
			fmt.Fprintf(w, "%s\t\t\t\t%s\t%s\n", l.Name, formatSize(l.Size), words.OneLine(l.Error))
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", l.Name, words.OneLine(l.ControlPlane), words.OneLine(l.Kubernetes), l.Objects, formatSize(l.Size), duration.HumanDuration(time.Since(l.Created)))
	}
	return w.Flush()
}
