//go:build linux

package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// formatTable returns a table with a line for each kind, and the sums.
func formatTable(tallies []*tally) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tTRIED\tSURVIVED\tLOST\tKILLS\tTIME\tNOTE")
	sum := tally{kind: kind{name: "all"}}
	for _, t := range tallies {
		note := ""
		switch {
		case t.missing != "":
			note = "not tried: " + t.missing
		case t.firstErr != nil:
			note = fmt.Sprintf("%.120s", firstLine(t.firstErr.Error()))
		case t.progress != nil:
			note = t.progress()
		}
		writeTally(w, t, note)
		sum.tried += t.tried
		sum.lost += t.lost
		sum.kills += t.kills
		sum.spent += t.spent
	}
	writeTally(w, &sum, "")
	_ = w.Flush() // to a builder
	return text.String()
}

func writeTally(w *tabwriter.Writer, t *tally, note string) {
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%.0fs\t%s\n", t.name, t.tried, t.tried-t.lost, t.lost, t.kills, t.spent.Seconds(), note)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
