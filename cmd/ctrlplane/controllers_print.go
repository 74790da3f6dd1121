package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// printControllers writes the list, as a table with all numbers if the format is wide.
// Otherwise a reason is on lines of its own, which fit the terminal.
func printControllers(out io.Writer, list []control.Controller, output *outputFlag) error {
	name := func(c control.Controller) string { return c.Name }
	if done, err := writeList(output, out, control.ControllerList{Items: list}, list, name); done {
		return err
	}
	if output.format != outputWide {
		return printNarrowControllers(out, list)
	}
	return printControllerTable(out, list, true)
}

// printNarrowControllers writes the table with the reasons between its lines.
func printNarrowControllers(out io.Writer, list []control.Controller) error {
	var table strings.Builder
	if err := printControllerTable(&table, list, false); err != nil {
		return err
	}
	width := statusWidth()
	for i, line := range strings.Split(strings.TrimSuffix(table.String(), "\n"), "\n") {
		fmt.Fprintln(out, strings.TrimRight(line, " "))
		if i == 0 {
			continue
		}
		for _, text := range append([]string{reasonCell(list[i-1])}, failingLines(list[i-1])...) {
			for _, part := range words.Wrap(words.OneLine(text), width-len(reasonIndent)) {
				if _, err := fmt.Fprintln(out, reasonIndent+part); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

const reasonIndent = "    "

func printControllerTable(out io.Writer, list []control.Controller, wide bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	columns := slices.DeleteFunc(controllerColumns(), func(c controllerColumn) bool { return c.wide && !wide })
	for i, c := range columns {
		fmt.Fprint(w, columnSeparator(i)+c.head)
	}
	fmt.Fprintln(w)
	for _, controller := range list {
		for i, c := range columns {
			fmt.Fprint(w, columnSeparator(i)+cmp.Or(words.OneLine(c.cell(controller)), "-"))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

func columnSeparator(i int) string {
	if i == 0 {
		return ""
	}
	return "\t"
}

type controllerColumn struct {
	head string
	wide bool
	cell func(control.Controller) string // empty if there is no value
}

func controllerColumns() []controllerColumn {
	// One that is off has no queues. What it has done is known, unless it never ran.
	isDown := func(c control.Controller) bool { return c.State == observe.StateOff || c.State == observe.StateFailed }
	ofQueues := func(head string, wide bool, of func(control.Work) int64) controllerColumn {
		return controllerColumn{head, wide, func(c control.Controller) string {
			if n := of(c.Work); n > 0 || !isDown(c) {
				return strconv.FormatInt(n, 10)
			}
			return ""
		}}
	}
	number := func(head string, wide bool, of func(control.Work) int64) controllerColumn {
		return controllerColumn{head, wide, func(c control.Controller) string {
			if c.Work == (control.Work{}) && isDown(c) {
				return ""
			}
			return strconv.FormatInt(of(c.Work), 10)
		}}
	}
	return []controllerColumn{
		{"NAME", false, func(c control.Controller) string { return c.Name }},
		{"STATE", false, func(c control.Controller) string { return c.State }},
		{"WORKERS", false, workersCell},
		ofQueues("DEPTH", false, func(w control.Work) int64 { return w.Depth }),
		ofQueues("IN FLIGHT", true, func(w control.Work) int64 { return w.InFlight }),
		ofQueues("RETRIES", true, func(w control.Work) int64 { return w.ErrorRetries }),
		number("SYNCS", true, func(w control.Work) int64 { return w.Syncs }),
		number("FAILED", true, func(w control.Work) int64 { return w.Failures }),
		number("WRITES", true, func(w control.Work) int64 { return w.Writes }),
		number("CONFLICTS", true, func(w control.Work) int64 { return w.Conflicts }),
		number("ERRORS", false, func(w control.Work) int64 { return w.Errors }),
		{"ALIASES", true, func(c control.Controller) string { return strings.Join(c.Aliases, ",") }},
		{"REASON", true, func(c control.Controller) string {
			return strings.Join(slices.DeleteFunc(append([]string{reasonCell(c)}, failingLines(c)...), func(s string) bool { return s == "" }), "; ")
		}},
	}
}

// workersCell is "5", or "20+20+1" for several queues.
func workersCell(c control.Controller) string {
	var numbers []string
	for _, queue := range slices.Sorted(maps.Keys(c.Workers)) {
		numbers = append(numbers, strconv.Itoa(c.Workers[queue]))
	}
	return strings.Join(numbers, "+")
}

// failingLines describes the keys that fail.
func failingLines(c control.Controller) []string {
	return ui.FailingLines(c.State, c.Failing, c.MoreFailing, true, time.Now())
}

func reasonCell(c control.Controller) string {
	reason := ui.WithHeld(c.Reason, c.Held)
	if c.Unlisted != "" {
		reason = strings.TrimPrefix(reason+"; waits: "+ui.DescribeUnlisted(c.Unlisted), "; ")
	}
	return reason
}
