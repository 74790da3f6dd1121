package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// formatReport formats the results as Markdown that can also be read as plain text.
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

// formatComparison formats the part of the report that compares ctrlplane with upstream.
func formatComparison(r *results) string {
	text := fmt.Sprintf("Median (min–max) of %s, in turn, none discarded. The target is for ctrlplane on two cores.\n\n%s", formatRunCounts(r), mediansTable(r))
	for _, base := range []string{"three", "three-lifted"} {
		text += ratioTable(r, base)
	}
	return text + "\n" + formatLegend(r, allMetrics(r.idleTime()))
}

// formatRunCounts says how many runs each contestant has.
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
	header := append(append([]string{""}, r.contestants()...), "target")
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

// ratioTable divides the medians of ctrlplane's contestants by those of the base. It is
// empty if one of them is missing.
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

// formatLegend explains the contestants and the rows.
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
		return "up --data-dir with an empty folder; everything is durable"
	case "ctrlplane-ephemeral":
		return "up --ephemeral: no fsync"
	case "ctrlplane-restart":
		return "up --data-dir with the folder of an earlier start and a namespace"
	case hooksOff:
		return "up --data-dir --observe-records=-1: nothing is recorded; queues are counted for /metrics"
	case hooksOn:
		return "up --data-dir: every work queue, event, API call and log line of the controllers is recorded"
	case viewAttached:
		return "the same, with top in a terminal (printing lines where the system has no pseudo terminals)"
	case "three":
		return "etcd, kube-apiserver and kube-controller-manager, each started when the one before responds; with their defaults except for what kubeadm and ctrlplane set, too; certificates are created before"
	case "three-lifted":
		return "three, with --kube-api-qps=5000 --kube-api-burst=5000 for kube-controller-manager"
	}
	return "not known to this version"
}
