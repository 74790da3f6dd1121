package main

import (
	"fmt"
	"slices"
)

// compareResults formats the change of each median between two results files.
func compareResults(old, newer *results) string {
	text := fmt.Sprintf("Change of medians since %s (%s, %d CPUs); * = the ranges of both runs do not overlap.\n",
		old.StartedAt.Format("2006-01-02 15:04 MST"), old.Versions["ctrlplane"], old.Machine.CPUs)
	if m := newer.Machine; m != old.Machine {
		text += "DIFFERENT MACHINE: the figures cannot be compared, their ratios to the three processes may be.\n"
	}
	if newer.IdleSeconds != old.IdleSeconds {
		text += fmt.Sprintf("Idle for %v s, not %v s: memory and idle CPU cannot be compared.\n", newer.IdleSeconds, old.IdleSeconds)
	}
	var rows [][]string
	for _, c := range newer.contestants() {
		if !slices.Contains(old.contestants(), c) {
			text += fmt.Sprintf("%s was not run before.\n", c)
			continue
		}
		for _, m := range allMetrics(newer.idleTime()) {
			before, ok1 := old.summaryOf(c, m.key)
			after, ok2 := newer.summaryOf(c, m.key)
			if ok1 && ok2 {
				rows = append(rows, []string{c, m.label + ", " + m.unit, formatCell(before, true), formatCell(after, true), formatChange(before, after)})
			}
		}
	}
	if len(rows) == 0 {
		return text
	}
	return text + "\n" + markdownTable([]string{"", "", "before", "after", "change"}, rows)
}

func formatChange(before, after summary) string {
	if before.median == 0 {
		return "n/a"
	}
	text := fmt.Sprintf("%+.1f %%", 100*(after.median/before.median-1))
	if !before.overlaps(after) {
		text += " *"
	}
	return text
}
