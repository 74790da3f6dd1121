package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// report is the text for people: Markdown that reads well as it is.
func report(r *results) string {
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
	b.WriteString(noise(r) + "\n")
	compared, looking := split(r.contestants())
	if len(compared) > 0 {
		b.WriteString("\n" + comparing(r.part(compared)))
	}
	if len(looking) > 0 {
		r := r.part(looking)
		b.WriteString("\n" + costs(r) + "\n" + legend(r, costMetrics(r.idle())))
	}
	return b.String()
}

// comparing is the part of the report that compares ctrlplane with others.
func comparing(r *results) string {
	text := fmt.Sprintf("Median (min–max) of %s, in turn, none discarded. The aim is ctrlplane's, on two cores.\n\n%s", counts(r), medians(r))
	for _, base := range []string{"three", "three-lifted"} {
		text += ratios(r, base)
	}
	return text + "\n" + legend(r, metrics(r.idle()))
}

// counts says how many runs there are of each contestant.
func counts(r *results) string {
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

func medians(r *results) string {
	header := append(append([]string{""}, r.contestants()...), "aim")
	var rows [][]string
	for _, m := range metrics(r.idle()) {
		if !r.knows(m.key) {
			continue
		}
		row := []string{m.label + ", " + m.unit}
		for _, c := range r.contestants() {
			s, ok := r.of(c, m.key)
			row = append(row, cell(s, ok))
		}
		rows = append(rows, append(row, m.limit()))
	}
	return table(header, rows)
}

func cell(s summary, ok bool) string {
	switch {
	case !ok:
		return "n/a"
	case s.min == s.max:
		return figure(s.median)
	}
	return fmt.Sprintf("%s (%s–%s)", figure(s.median), figure(s.min), figure(s.max))
}

// ratios divides the medians of ctrlplane's contestants by those of the base;
// it is empty if one of the two is missing.
func ratios(r *results, base string) string {
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
	for _, m := range metrics(r.idle()) {
		theirs, ok := r.of(base, m.key)
		if !ok || theirs.median == 0 {
			continue
		}
		row := []string{m.label}
		for _, c := range ours {
			s, ok := r.of(c, m.key)
			row = append(row, ratio(s.median, theirs.median, ok))
		}
		rows = append(rows, row)
	}
	return fmt.Sprintf("\nMedians divided by those of %s.\n\n%s", base, table(append([]string{""}, ours...), rows))
}

func ratio(ours, theirs float64, ok bool) string {
	if !ok {
		return "n/a"
	}
	return fmt.Sprintf("%.2f", ours/theirs)
}

// legend says what the contestants and the rows are.
func legend(r *results, rows []metric) string {
	var b strings.Builder
	for _, c := range r.contestants() {
		fmt.Fprintf(&b, "- %s: %s\n", c, aboutContestant(c))
	}
	for _, m := range rows {
		if m.about != "" && r.knows(m.key) {
			fmt.Fprintf(&b, "- %s: %s\n", strings.TrimPrefix(m.label, "– "), m.about)
		}
	}
	return b.String()
}

func aboutContestant(name string) string {
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
