package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/limitread"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/snapshot/objects"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/internal/yamltext"
	"github.com/ctrlplane/ctrlplane/ui"
)

// nowName is the name of the current state in a diff.
const nowName = "now"

// diffCommand has the flags of "ctrlplane snapshot diff".
type diffCommand struct {
	target   *target
	output   *outputFlag
	events   bool
	exitCode bool
	golden   string
	update   bool
}

func newSnapshotDiff(t *target) *cobra.Command {
	d := &diffCommand{target: t, output: newOutput(outputJSON, outputYAML, outputName)}
	cmd := &cobra.Command{
		Use:   "diff A [B]",
		Short: "Compare two snapshots, or a snapshot with the current state",
		Long: `Show which objects differ between two snapshots, or between a snapshot and the current
state, and how. The comparison ignores managedFields, resource versions, Leases,
heartbeats of Nodes and, without --events, Events. The values of Secrets are masked.

-o yaml and -o json leave out what differs from run to run: UIDs, times, generated
names, and addresses, ports and nodes that Kubernetes assigns, also where a manifest
sets them: the diff without -o shows these. Two runs that do the same print the same.
--golden compares that YAML with a file: the exit code is 1 if they differ, and
--update writes the file.`,
		Example: `  ctrlplane snapshot diff base
  ctrlplane snapshot diff base later -o name
  ctrlplane snapshot diff base --exit-code
  ctrlplane snapshot diff base --golden testdata/install.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usage.Errorf(`snapshot diff takes one or two names, got %q: "ctrlplane snapshot list" lists them`, args)
			}
			return d.validate()
		},
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), cmd.OutOrStdout(), args) },
	}
	f := cmd.Flags()
	d.output.add(cmd)
	f.BoolVar(&d.events, "events", false, "also compare Events")
	f.BoolVar(&d.exitCode, "exit-code", false, "exit with 1 if an object differs")
	f.StringVar(&d.golden, "golden", "", "compare what -o yaml prints with this file, and exit with 1 if it differs")
	f.BoolVar(&d.update, "update", false, "with --golden, write the file")
	return cmd
}

func (d *diffCommand) validate() error {
	switch {
	case d.update && d.golden == "":
		return usage.Errorf("--update needs --golden: name the file to write")
	case d.golden != "" && (d.output.format != "" || d.exitCode):
		return usage.Errorf("--golden excludes --output and --exit-code: it compares YAML and has an exit code of its own")
	}
	return nil
}

// errDifferent is the result of a comparison whose output says what differs.
var errDifferent = &exitError{nil, 1}

func (d *diffCommand) run(ctx context.Context, out io.Writer, args []string) error {
	before, err := loadSavedState(ctx, args[0])
	if err != nil {
		return err
	}
	var after snapshot.State
	to := nowName
	if len(args) > 1 {
		to = args[1]
		after, err = loadSavedState(ctx, to)
	} else {
		after, err = readCurrentState(ctx, d.target)
	}
	if err != nil {
		return err
	}
	list := objects.Diff(before, after, d.events)
	if d.golden != "" {
		return d.compareGolden(ctx, out, objects.Stable(list))
	}
	if d.output.format == outputJSON || d.output.format == outputYAML {
		list = objects.Stable(list)
	}
	if err := printDiff(out, list, d.output, args[0], to); err != nil {
		return err
	}
	if d.exitCode && len(list) > 0 {
		return errDifferent
	}
	return nil
}

// compareGolden compares the differences with the golden file, or writes it.
func (d *diffCommand) compareGolden(ctx context.Context, out io.Writer, list []objects.Difference) error {
	text, err := yamltext.Marshal(map[string]any{"items": list})
	if err != nil {
		return err
	}
	if d.update {
		return writeGolden(ctx, d.golden, text)
	}
	want, err := limitread.FileContext(ctx, d.golden, maxGoldenBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--golden: %s does not exist: write it with --update", d.golden)
	}
	if err != nil {
		return fmt.Errorf("--golden: %w", err)
	}
	diff, err := objects.DiffText(strings.ReplaceAll(string(want), "\r\n", "\n"), string(text), d.golden, nowName)
	if err != nil || diff == "" {
		return err
	}
	if _, err := io.WriteString(out, colorDiff(cleanDiff(diff))); err != nil {
		return err
	}
	return errDifferent
}

// maxGoldenBytes is far above any golden file that people read.
const maxGoldenBytes = 128 << 20

// colorDiff colors a diff if stdout is a terminal.
func colorDiff(diff string) string {
	return ui.Detect(os.Stdout, os.Environ()).ColorDiff(diff)
}

func loadSavedState(ctx context.Context, name string) (snapshot.State, error) {
	store := snapshot.UserStore()
	file, err := store.Load(ctx, name)
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
	from, _, err := t.snapshots()
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

func printDiff(out io.Writer, list []objects.Difference, output *outputFlag, from, to string) error {
	if done, err := output.writeObject(out, map[string]any{"items": list}); done {
		return err
	}
	for _, d := range list {
		text := words.OneLine(fmt.Sprintf("%s %s", d, d.Change)) + "\n"
		if output.format != outputName {
			diff, err := d.UnifiedDiff(from, to)
			if err != nil {
				return err
			}
			text = colorDiff(cleanDiff(diff))
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	return nil
}

// writeGolden replaces a golden file, which stays as it is if that fails.
func writeGolden(ctx context.Context, path string, text []byte) error {
	how := durable.RewriteOptions{Mode: 0o644, TempPrefix: durable.TempPrefix}
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		_, err := limitread.Await(ctx, func() (any, error) { return nil, os.WriteFile(path, text, 0) })
		return err // it names the file, such as /dev/stdout
	case err == nil:
		how.Mode, how.Like = info.Mode().Perm(), info
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("--golden: %w", err)
	}
	if err := durable.Rewrite(path, text, how); err != nil {
		return fmt.Errorf("--golden: %s is not written: %w", path, err)
	}
	return nil
}
