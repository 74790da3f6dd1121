package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

func newListCommand(t *target) *cobra.Command {
	output := newListOutput()
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls", "ps"},
		Short:   "List your control planes, running and stopped, with their size",
		Long: `List the control planes in your state folder, the ephemeral ones and the one that
CTRLPLANE_DATA_DIR names. With --data-dir, only the one in that folder. AGE is the time
since the last start. A crashed control plane is one whose process was killed or has
failed: "ctrlplane up" starts it again with its data, and the next ephemeral control
plane removes those that were ephemeral. A suspended one, as by Ctrl-Z, does not answer
until "fg" in its shell, or "kill -CONT PID", continues it; this is known on Linux.`,
		Example: `  ctrlplane list
  ctrlplane list -o wide
  ctrlplane list -o json | jq '.items[] | select(.state == "crashed") | .name'`,
		Args: rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := t.listPlanes()
			if err != nil {
				return err
			}
			name := func(p plane) string { return p.Name }
			if done, err := writeList(output, cmd.OutOrStdout(), map[string][]plane{"items": list}, list, name); done {
				return err
			}
			return printPlanes(cmd.OutOrStdout(), list, output.format == outputWide)
		},
	}
	output.add(cmd)
	return cmd
}

// listPlanes lists all control planes, also the one in the folder that the environment
// selects, or the one with the folder that is given.
func (t *target) listPlanes() ([]plane, error) {
	if t.dataDir != "" {
		p, err := t.findPlane()
		return []plane{p}, err
	}
	list, err := allPlanes()
	if err != nil && !datadir.IsStateFolderError(err) {
		return nil, err
	}
	if list == nil {
		list = []plane{} // JSON without null
	}
	selected, selectedErr := t.planeOfEnvironment(list)
	if selectedErr != nil {
		return nil, selectedErr
	}
	return warnOfUnlisted(append(list, selected...), err)
}

// planeOfEnvironment describes the data folder that the environment selects, if that exists and is
// not in the list.
func (t *target) planeOfEnvironment(list []plane) ([]plane, error) {
	if os.Getenv(dataDirEnv) == "" {
		return nil, nil
	}
	path, err := datadir.Path(t.name, os.Getenv(dataDirEnv))
	if err != nil || slices.ContainsFunc(list, func(p plane) bool { return p.DataDir == path }) {
		return nil, err
	}
	p, err := newPlane("", path)
	if errors.As(err, new(*datadir.NotFoundError)) {
		return nil, nil
	}
	return []plane{p}, nil // perhaps damaged
}

func printPlanes(out io.Writer, list []plane, wide bool) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, asCalled(`no control planes: "ctrlplane up" starts one`))
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := []string{"NAME", "STATE", "AGE", "SIZE", "ADDRESS"}
	if wide {
		head = append(head, "PID", "KUBERNETES", "FOLDER")
	}
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, p := range list {
		cells := []string{cmp.Or(p.Name, "-"), p.describeState(), p.age(), words.Size(p.Bytes), cmp.Or(p.URL, "-")}
		if wide {
			cells = append(cells, p.pidText(), cmp.Or(p.Kubernetes, "-"), p.DataDir)
		}
		for i, cell := range cells {
			cells[i] = words.OneLine(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

func (p plane) describeState() string {
	state := p.State
	if p.Suspended {
		state = "suspended"
	}
	switch {
	case p.Error != "":
		return state + ": " + p.Error
	case p.Private:
		return state + " (of a run or test)"
	case p.Ephemeral && p.Name != "ephemeral":
		return state + " (ephemeral)"
	}
	return state
}

// age is the time since the last start.
func (p plane) age() string {
	if p.Started.IsZero() {
		return "-"
	}
	return duration.HumanDuration(time.Since(p.Started))
}

func (p plane) pidText() string {
	if p.PID == 0 {
		return "-"
	}
	return strconv.Itoa(p.PID)
}
