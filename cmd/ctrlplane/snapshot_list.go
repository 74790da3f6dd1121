package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// snapshotList is the output of "snapshot list -o json".
type snapshotList struct {
	Dir   string          `json:"dir"`
	Items []snapshot.Info `json:"items"`
}

func newSnapshotList() *cobra.Command {
	output := newListOutput()
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the snapshots, newest first",
		Example: `  ctrlplane snapshot list
  ctrlplane snapshot list -o name`,
		Args: rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store := snapshot.UserStore()
			list, err := store.List(cmd.Context())
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if done, err := writeList(output, out, snapshotList{store.Dir, list}, list, func(i snapshot.Info) string { return i.Name }); done {
				return err
			}
			return printSnapshots(out, list)
		},
	}
	output.add(cmd)
	return cmd
}

func printSnapshots(out io.Writer, list []snapshot.Info) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tFROM\tKUBERNETES\tOBJECTS\tSIZE\tAGE")
	for _, l := range list {
		if l.Error != "" {
			fmt.Fprintf(w, "%s\t\t\t\t%s\t%s\n", l.Name, words.Size(l.Size), words.OneLine(l.Error))
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", l.Name, words.OneLine(l.ControlPlane), words.OneLine(l.Kubernetes), l.Objects, words.Size(l.Size), duration.HumanDuration(time.Since(l.Created)))
	}
	return w.Flush()
}
