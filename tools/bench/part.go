package main

import (
	"context"
	"slices"
)

// place is where a part is measured.
type place string

const (
	here   place = ""     // in the control plane whose start is measured
	beside place = "crds" // in one of its own, with many CRDs
	alone  place = "run"  // in none: it starts its own
)

func places() []place { return []place{here, beside, alone} }

// part is a group of rows that -only can name. Those of a place are measured
// one after the other, in the order of parts.
type part struct {
	name  string
	place place
	needs string // part that has to come before it
	do    func(m *meter, ctx context.Context, a *api) error
}

// parts are all. The start has nothing to do: it comes before any in its place.
func parts() []part {
	return []part{
		{name: "start"},
		{name: "idle", do: func(m *meter, ctx context.Context, _ *api) error { return m.leaveAlone(ctx) }},
		{name: "first-pod", do: (*meter).firstPods},
		{name: "pods-1000", do: func(m *meter, ctx context.Context, a *api) error { return m.watched(ctx, a, small) }},
		{name: "pods-5000", do: func(m *meter, ctx context.Context, a *api) error { return m.watched(ctx, a, large) }},
		{name: "delete-empty", do: (*meter).deleteEmpty},
		{name: "delete-5000", needs: "pods-5000", do: (*meter).deleteFull},
		{name: "crds", place: beside, do: (*meter).addCRDs},
		{name: "new-kind", place: beside, needs: "crds", do: (*meter).newKinds},
		{name: "collect", place: beside, needs: "crds", do: (*meter).collect},
		{name: "run", place: alone, do: (*meter).runCommands},
	}
}

func partNames() (list []string) {
	for _, p := range parts() {
		list = append(list, p.name)
	}
	return list
}

// needed adds to the names of parts those that they need.
func needed(names []string) []string {
	list := slices.Clone(names)
	for _, p := range parts() {
		if p.needs != "" && slices.Contains(names, p.name) && !slices.Contains(list, p.needs) {
			list = append(list, p.needs)
		}
	}
	return list
}

// partsOf are the parts of a contestant in a place that the options choose.
func (o options) partsOf(c contestant, at place) (list []part) {
	chosen, all := needed(o.parts), needed(c.parts)
	for _, p := range parts() {
		if p.place == at && slices.Contains(all, p.name) && (len(o.parts) == 0 || slices.Contains(chosen, p.name)) {
			list = append(list, p)
		}
	}
	return list
}
