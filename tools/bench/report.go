package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// formatReport is the text for people: Markdown that reads well as it is.
func formatReport(r *results) string {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "%s, %s/%s, %d CPUs", r.StartedAt.Format("2006-01-02 15:04 MST"), m.OS, m.Arch, m.CPUs)
	for _, s := range []string{m.Model, m.Memory} {
		if s != "" {
			fmt.Fprintf(&b, ", %s", s)
		}
	}
	b.WriteString("\n")
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		fmt.Fprintf(&b, "%s: %s\n", name, r.Versions[name])
	}
	b.WriteString(formatNoise(r) + "\n")
	compared, looking := splitContestants(r.contestants())
	if len(compared) > 0 {
		b.WriteString("\n" + formatComparison(r.onlyContestants(compared)))
	}
	if len(looking) > 0 {
		r := r.onlyContestants(looking)
		b.WriteString("\n" + formatObservationCost(r) + "\n" + formatLegend(r, observationMetrics(r.idleTime())))
	}
	return b.String()
}

// formatComparison is the part of the report that compares ctrlplane with others.
func formatComparison(r *results) string {
	text := fmt.Sprintf("Median (min–max) of %s, in turn, none discarded. The aim is ctrlplane's, on two cores.\n\n%s", formatRunCounts(r), mediansTable(r))
	for _, base := range []string{"three", "three-lifted"} {
		text += ratioTable(r, base)
	}
	return text + "\n" + formatLegend(r, allMetrics(r.idleTime()))
}

// formatRunCounts says how many runs there are of each contestant.
func formatRunCounts(r *results) string {
	runs := map[string]int{}
	for _, s := range r.Samples {
		runs[s.Contestant]++
	}
	least, most := len(r.Samples), 0
	for _, n := range runs {
		least, most = min(least, n), max(most, n)
	}
	switch {
	case least != most:
		return fmt.Sprintf("%d to %d runs each", least, most)
	case most == 1:
		return "1 run each"
	}
	return fmt.Sprintf("%d runs each", most)
}

func mediansTable(r *results) string {
	header := append(append([]string{""}, r.contestants()...), "aim")
	var rows [][]string
	for _, m := range allMetrics(r.idleTime()) {
		if !r.hasMetric(m.key) {
			continue
		}
		row := []string{m.label + ", " + m.unit}
		for _, c := range r.contestants() {
			s, ok := r.summaryOf(c, m.key)
			row = append(row, formatCell(s, ok))
		}
		rows = append(rows, append(row, m.targetText()))
	}
	return markdownTable(header, rows)
}

func formatCell(s summary, ok bool) string {
	switch {
	case !ok:
		return "n/a"
	case s.min == s.max:
		return formatFigure(s.median)
	}
	return fmt.Sprintf("%s (%s–%s)", formatFigure(s.median), formatFigure(s.min), formatFigure(s.max))
}

// ratioTable divides the medians of ctrlplane's contestants by those of the base;
// it is empty if one of the two is missing.
func ratioTable(r *results, base string) string {
	var ours []string
	for _, c := range r.contestants() {
		if strings.HasPrefix(c, "ctrlplane") {
			ours = append(ours, c)
		}
	}
	if len(ours) == 0 || !slices.Contains(r.contestants(), base) {
		return ""
	}
	var rows [][]string
	for _, m := range allMetrics(r.idleTime()) {
		theirs, ok := r.summaryOf(base, m.key)
		if !ok || theirs.median == 0 {
			continue
		}
		row := []string{m.label}
		for _, c := range ours {
			s, ok := r.summaryOf(c, m.key)
			row = append(row, formatRatio(s.median, theirs.median, ok))
		}
		rows = append(rows, row)
	}
	return fmt.Sprintf("\nMedians divided by those of %s.\n\n%s", base, markdownTable(append([]string{""}, ours...), rows))
}

func formatRatio(ours, theirs float64, ok bool) string {
	if !ok {
		return "n/a"
	}
	return fmt.Sprintf("%.2f", ours/theirs)
}

// formatLegend says what the contestants and the rows are.
func formatLegend(r *results, rows []metric) string {
	var b strings.Builder
	for _, c := range r.contestants() {
		fmt.Fprintf(&b, "- %s: %s\n", c, describeContestant(c))
	}
	for _, m := range rows {
		if m.description != "" && r.hasMetric(m.key) {
			fmt.Fprintf(&b, "- %s: %s\n", strings.TrimPrefix(m.label, "– "), m.description)
		}
	}
	return b.String()
}

func describeContestant(name string) string {
	switch name {
	case "ctrlplane":
		return "up --data-dir, on an empty folder; everything durable"
	case "ctrlplane-ephemeral":
		return "up --ephemeral: no fsync"
	case "ctrlplane-restart":
		return "up --data-dir, on a folder that one start and a namespace have left"
	case hooksOff:
		return "up --data-dir --observe-records=-1: nothing is taken down; queues are counted for /metrics as ever"
	case hooksOn:
		return "up --data-dir: every work queue, event, API call and log line of the controllers is taken down"
	case viewAttached:
		return "the same, while top shows it on a terminal (as lines, where the system has no such thing)"
	case "three":
		return "etcd, kube-apiserver and kube-controller-manager, each started when the one before answers; their defaults, but for what kubeadm and ctrlplane set too; certificates made before"
	case "three-lifted":
		return "three, with --kube-api-qps=5000 --kube-api-burst=5000 for kube-controller-manager"
	}
	return "unknown to this version"
}
