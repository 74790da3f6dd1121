package main

import (
	"context"
	"slices"
)

// location is where a part is measured.
type location string

const (
	inMeasured location = ""     // in the control plane of the measured start
	withCRDs   location = "crds" // in another one, with many CRDs
	standalone location = "run"  // starts a control plane of its own
)

func allLocations() []location { return []location{inMeasured, withCRDs, standalone} }

// part is a group of rows that -only can name. The parts of a location are measured one
// after the other, in the order of allParts.
type part struct {
	name     string
	location location
	needs    string // name of a part that must be measured before it
	measure  func(m *measurement, ctx context.Context, a *apiClient) error
}

// allParts returns all parts. Part start does nothing: a start precedes all parts.
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
		{name: "informers", measure: (*measurement).measureInformers},
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

// withRequired adds the parts that the given parts need.
func withRequired(names []string) []string {
	list := slices.Clone(names)
	for _, p := range allParts() {
		if p.needs != "" && slices.Contains(names, p.name) && !slices.Contains(list, p.needs) {
			list = append(list, p.needs)
		}
	}
	return list
}

// partsOf returns the selected parts of a contestant in a location.
func (o options) partsOf(c contestant, at location) (list []part) {
	chosen, all := withRequired(o.parts), withRequired(c.parts)
	for _, p := range allParts() {
		if p.location == at && slices.Contains(all, p.name) && (len(o.parts) == 0 || slices.Contains(chosen, p.name)) {
			list = append(list, p)
		}
	}
	return list
}
