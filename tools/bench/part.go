package main

import (
	"context"
	"slices"
)

// location is where a part is measured.
type location string

const (
	inMeasured location = ""     // in the control plane whose start is measured
	withCRDs   location = "crds" // in one of its own, with many CRDs
	standalone location = "run"  // in none: it starts its own
)

func allLocations() []location { return []location{inMeasured, withCRDs, standalone} }

// part is a group of rows that -only can name. Those of a place are measured
// one after the other, in the order of parts.
type part struct {
	name     string
	location location
	needs    string // part that has to come before it
	measure  func(m *measurement, ctx context.Context, a *apiClient) error
}

// allParts are all. The start has nothing to do: it comes before any in its place.
func allParts() []part {
	return []part{
		{name: "start"},
		{name: "idle", measure: func(m *measurement, ctx context.Context, _ *apiClient) error { return m.measureIdle(ctx) }},
		{name: "first-pod", measure: (*measurement).measureFirstPods},
		{name: "pods-1000", measure: func(m *measurement, ctx context.Context, a *apiClient) error {
			return m.measureBurstWithView(ctx, a, smallBurst)
		}},
		{name: "pods-5000", measure: func(m *measurement, ctx context.Context, a *apiClient) error {
			return m.measureBurstWithView(ctx, a, largeBurst)
		}},
		{name: "delete-empty", measure: (*measurement).measureEmptyDelete},
		{name: "delete-5000", needs: "pods-5000", measure: (*measurement).measureFullDelete},
		{name: "crds", location: withCRDs, measure: (*measurement).measureCRDs},
		{name: "new-kind", location: withCRDs, needs: "crds", measure: (*measurement).measureNewKinds},
		{name: "collect", location: withCRDs, needs: "crds", measure: (*measurement).measureGarbageCollection},
		{name: "run", location: standalone, measure: (*measurement).measureRunCommand},
	}
}

func partNames() (list []string) {
	for _, p := range allParts() {
		list = append(list, p.name)
	}
	return list
}

// withRequired adds to the names of parts those that they need.
func withRequired(names []string) []string {
	list := slices.Clone(names)
	for _, p := range allParts() {
		if p.needs != "" && slices.Contains(names, p.name) && !slices.Contains(list, p.needs) {
			list = append(list, p.needs)
		}
	}
	return list
}

// partsOf are the parts of a contestant in a place that the options choose.
func (o options) partsOf(c contestant, at location) (list []part) {
	chosen, all := withRequired(o.parts), withRequired(c.parts)
	for _, p := range allParts() {
		if p.location == at && slices.Contains(all, p.name) && (len(o.parts) == 0 || slices.Contains(chosen, p.name)) {
			list = append(list, p)
		}
	}
	return list
}
