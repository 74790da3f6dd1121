package main

import (
	"fmt"
	"slices"
	"time"
)

// The contestants that measure the cost of observation: the same control plane, each
// with more observers than the one before.
const (
	hooksOff     = "hooks-off"
	hooksOn      = "hooks-on"
	viewAttached = "view-attached"
)

// observationContestants returns their names, the one without observation first.
func observationContestants() []string { return []string{hooksOff, hooksOn, viewAttached} }

func (o options) newObservationContestant(name string) contestant {
	c := contestant{name: name, binaries: []string{o.ctrlplane}, launch: o.launchDurable, parts: []string{"idle", "pods-1000", "pods-5000", "informers"}}
	switch name {
	case hooksOff:
		c.launch = o.launchUnobserved
	case viewAttached:
		c.attachView = o.attachView
	}
	return c
}

// splitContestants separates the observation contestants from the compared ones.
func splitContestants(names []string) (compared, looking []string) {
	for _, name := range names {
		if slices.Contains(observationContestants(), name) {
			looking = append(looking, name)
		} else {
			compared = append(compared, name)
		}
	}
	return compared, looking
}

// formatObservationCost formats the part of the report about the cost of observation.
func formatObservationCost(r *results) string {
	var rows [][]string
	for _, m := range observationMetrics(r.idleTime()) {
		if !r.hasMetric(m.key) {
			continue
		}
		row := []string{m.label + ", " + m.unit}
		for _, c := range r.contestants() {
			s, ok := r.summaryOf(c, m.key)
			row = append(row, formatCell(s, ok))
			if c != hooksOff {
				row = append(row, formatPercent(r.percentChanges(hooksOff, c, m.key)))
			}
		}
		rows = append(rows, row)
	}
	header := []string{""}
	for _, c := range r.contestants() {
		header = append(header, c)
		if c != hooksOff {
			header = append(header, "change")
		}
	}
	return fmt.Sprintf("Cost of observation: median (min–max) of %s, %s, none discarded.\n"+
		"Changes are relative to %s in the same round. The target for time and CPU is at most +3 %%.\n\n%s", formatRunCounts(r), r.order(), hooksOff, markdownTable(header, rows))
}

// observationMetrics returns the rows of that part: time and CPU of each burst, and what
// else observation may increase.
func observationMetrics(idle time.Duration) []metric {
	keys := []string{"rss", "cpuIdle", "cpuAll"}
	for _, b := range []burst{smallBurst, largeBurst} {
		keys = append(keys, b.metricKey("pods"), b.metricKey("cpu"), b.metricKey("cpuView"))
	}
	for _, m := range informerMetrics() {
		keys = append(keys, m.key)
	}
	return slices.DeleteFunc(allMetrics(idle), func(m metric) bool { return !slices.Contains(keys, m.key) })
}

// percentChanges returns by how many percent the values of a contestant exceed those of
// the base, for each run that both have.
func (r *results) percentChanges(base, contestant, key string) []float64 {
	before := map[int]float64{}
	for _, s := range r.Samples {
		if v, ok := s.Values[key]; ok && s.Contestant == base {
			before[s.Run] = v
		}
	}
	var list []float64
	for _, s := range r.Samples {
		v, ok := s.Values[key]
		if b := before[s.Run]; ok && s.Contestant == contestant && b != 0 {
			list = append(list, 100*(v/b-1))
		}
	}
	return list
}

// formatPercent formats the median of changes with their range.
func formatPercent(changes []float64) string {
	if len(changes) == 0 {
		return "n/a"
	}
	s := summarize(changes)
	text, lo, hi := fmt.Sprintf("%+.1f %%", s.median), fmt.Sprintf("%+.1f", s.min), fmt.Sprintf("%+.1f", s.max)
	if lo == hi {
		return text
	}
	return fmt.Sprintf("%s (%s – %s)", text, lo, hi)
}
