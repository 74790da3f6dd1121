package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// commands is the value of -only for what the commands of simulated Pods cost: the same
// load without and with them, in turn. Names of its parts may follow it.
const commands = "commands"

// commandCount is how many Jobs or Pods a part creates, on commandNodes nodes.
const commandCount, commandNodes = 1000, 20

// The variants of each part.
const without, with = "without", "with"

// commandPart is what is measured in a control plane without a command, and in another one
// with it.
type commandPart struct {
	name    string
	command []string
	measure func(ctx context.Context, m *measurement, a *apiClient, command []string) error
	rows    []workloadRow
	target  string
}

func commandParts() []commandPart {
	return []commandPart{
		{"jobs", []string{"echo", "hello"}, measureJobs, []workloadRow{
			{"jobs/complete", fmt.Sprintf("%d Jobs complete", commandCount), "s"},
			{"jobs/cpu", "– CPU until then", "s"},
			{"jobs/requests", "– requests until then", "requests"},
		}, "Jobs of `echo` complete as fast as Jobs without a command"},
		{"sleepers", []string{"sleep", "infinity"}, measureSleepers, []workloadRow{
			{"sleepers/each", fmt.Sprintf("memory of each of %d Pods, live heap and stacks", commandCount), "KiB"},
			{"sleepers/ready", "– all of them Ready", "s"},
			{"sleepers/rss", "– RSS then", "MiB"},
		}, "a Pod of `sleep infinity` costs at most 4 KiB more than a Pod without a command"},
		besideLoops("busy", 1),
		besideLoops("busy10", 10),
		besideLoops("busy100", 100),
	}
}

// besideLoops is the part that measures beside n Pods.
func besideLoops(name string, n int) commandPart {
	measure := func(ctx context.Context, m *measurement, a *apiClient, command []string) error {
		return measureBesideLoops(ctx, m, a, n, command)
	}
	return commandPart{name, []string{"sh", "-c", "while :; do :; done"}, measure, []workloadRow{
		{name + "/p50", fmt.Sprintf("GET of an object beside %d Pods, median", n), "ms"},
		{name + "/p99", "– 99th percentile", "ms"},
		{name + "/ready", "100 Deployments with 10 replicas beside them: all Pods Ready", "s"},
		{name + "/settled", "– statuses say so", "s"},
		{name + "/cpu", "– CPU until then", "s"},
	}, fmt.Sprintf("%d Pods with a busy loop do not slow the control plane measurably", n)}
}

// isCommands reports whether -only selects commands.
func (o options) isCommands() bool { return strings.Split(o.only, ",")[0] == commands }

// commandParts returns the parts that -only selects.
func (o options) commandParts() ([]commandPart, error) {
	all := commandParts()
	selected := strings.Split(o.only, ",")[1:]
	var chosen []commandPart
	for _, name := range selected {
		i := slices.IndexFunc(all, func(p commandPart) bool { return p.name == name })
		if i < 0 {
			return nil, usagef("-only: unknown part %q of commands: choose from jobs,sleepers,busy,busy10,busy100", name)
		}
		chosen = append(chosen, all[i])
	}
	if len(chosen) == 0 {
		return all, nil
	}
	return chosen, nil
}

// runCommands measures the selected parts without and with a command, in turn, and prints
// the medians.
func runCommands(ctx context.Context, o options, stdout, progress io.Writer) error {
	parts, err := o.commandParts()
	if err != nil {
		return err
	}
	if err := o.makePathsAbsolute(); err != nil {
		return err
	}
	if _, err := os.Stat(o.ctrlplane); err != nil {
		return fmt.Errorf("%w: run \"make build\" first", err)
	}
	parent, err := os.MkdirTemp("", "ctrlplane-bench-")
	if err != nil {
		return err
	}
	values := workloadValues{}
	for n := range o.runs {
		for _, part := range parts {
			variants := []string{without, with}
			if n%2 == 1 {
				slices.Reverse(variants)
			}
			for _, variant := range variants {
				fmt.Fprintf(progress, "run %d of %d: %s %s … ", n+1, o.runs, part.name, variant)
				got, err := o.measureCommand(ctx, parent, part, variant, n)
				if err != nil {
					fmt.Fprintln(progress, "failed")
					return err // the log that the error names stays
				}
				values.add(variant, part.name, got)
				fmt.Fprintln(progress, describeRows(part.rows, part.name, got))
			}
		}
	}
	if _, err := io.WriteString(stdout, formatCommands(o, parts, values)); err != nil {
		return err
	}
	return os.RemoveAll(parent)
}

// measureCommand measures a variant of a part once, in a control plane of its own.
func (o options) measureCommand(ctx context.Context, parent string, part commandPart, variant string, n int) (map[string]float64, error) {
	command := part.command
	if variant == without {
		command = nil
	}
	measure := workloadPart{part.name + "-" + variant, commandNodes, func(ctx context.Context, m *measurement, a *apiClient) error {
		return part.measure(ctx, m, a, command)
	}}
	return o.measureWorkload(ctx, parent, o.newOwnContestant("ctrlplane", o.ctrlplane, ""), measure, n)
}

func formatCommands(o options, parts []commandPart, values workloadValues) string {
	var rows [][]string
	var targets strings.Builder
	for _, part := range parts {
		fmt.Fprintf(&targets, "- %s (`%s`): %s\n", part.name, strings.Join(part.command, " "), part.target)
		for _, row := range part.rows {
			a, b := values[without][row.key], values[with][row.key]
			rows = append(rows, []string{row.label + ", " + row.unit, formatValues(a), formatValues(b), formatDifferences(b, a), formatPairs(b, a)})
		}
	}
	return fmt.Sprintf("%s\n\nMedian (min–max) of %s, without and with a command in turn, each in a control plane of its own with %d nodes, none discarded; differences and ratios run by run.\n\n%s%s",
		describeMachine(), countRuns(o.runs), commandNodes, markdownTable([]string{"", without, with, "difference", with + " / " + without}, rows), &targets)
}

// formatDifferences formats the differences of the values of the same run.
func formatDifferences(a, b []float64) string {
	var list []float64
	for i := range min(len(a), len(b)) {
		list = append(list, a[i]-b[i])
	}
	if len(list) == 0 {
		return "n/a"
	}
	s := summarize(list)
	if s.min == s.max {
		return fmt.Sprintf("%+.4g", s.median)
	}
	return fmt.Sprintf("%+.4g (%+.4g–%+.4g)", s.median, s.min, s.max)
}
