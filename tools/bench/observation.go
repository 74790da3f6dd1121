package main

import (
	"fmt"
	"slices"
	"time"
)

// The contestants that tell what looking costs: the same control plane, each
// with more that looks than the one before.
const (
	hooksOff     = "hooks-off"
	hooksOn      = "hooks-on"
	viewAttached = "view-attached"
)

// observationContestants are their names, the one without any cost first.
func observationContestants() []string { return []string{hooksOff, hooksOn, viewAttached} }

func (o options) newObservationContestant(name string) contestant {
	c := contestant{name: name, binaries: []string{o.ctrlplane}, launch: o.launchDurable, parts: []string{"idle", "pods-1000", "pods-5000"}}
	switch name {
	case hooksOff:
		c.launch = o.launchUnobserved
	case viewAttached:
		c.attachView = o.attachView
	}
	return c
}

// splitContestants parts the looks from the contestants that are compared.
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

// formatObservationCost is the part of the report that says what looking costs.
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
	return fmt.Sprintf("What looking costs: median (min–max) of %s, in rounds there and back, none discarded.\n"+
		"A change is from %s in the same round. The aim for time and CPU is +3 %% at most.\n\n%s", formatRunCounts(r), hooksOff, markdownTable(header, rows))
}

// observationMetrics are the rows: of each burst how fast and how dear it is, and of
// the rest what observers may add to.
func observationMetrics(idle time.Duration) []metric {
	keys := []string{"rss", "cpuIdle", "cpuAll"}
	for _, b := range []burst{smallBurst, largeBurst} {
		keys = append(keys, b.metricKey("pods"), b.metricKey("cpu"), b.metricKey("cpuView"))
	}
	return slices.DeleteFunc(allMetrics(idle), func(m metric) bool { return !slices.Contains(keys, m.key) })
}

// percentChanges are by how many per cent the values of a contestant are above those
// of the base, in each run that both have.
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

// formatPercent is the median of some changes, with their range.
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
