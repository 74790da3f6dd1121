package trace

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// What an object set off is not all there if records since its creation were dropped.
func TestDroppedEffectsAreSaid(t *testing.T) {
	records := clientCalls(
		observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)},
		observe.Called{Verb: "patch", ResourceVersion: "7"},
	)
	records[1].Seq = 900
	for name, tc := range map[string]struct {
		missed, completeAfter uint64
		want                  bool
	}{
		"none":                   {0, 0, false},
		"later ones":             {700, 800, true},
		"earlier ones, at first": {1, 0, true},
	} {
		tree, err := Build(records, deployment("web"), Options{Missed: tc.missed, CompleteAfter: tc.completeAfter})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []Format{Text, HTML} {
			text := writeString(t, tree, f, Style{})
			said := "Dropped " + words.Count(tc.missed, "older record") + ": earlier causes and effects may be missing."
			if got := strings.Contains(text, said); got != tc.want || got != strings.Contains(strings.ToLower(text), "dropped ") {
				t.Errorf("%s: %s says %q: %v\n%.3000s", name, f, said, got, text)
			}
		}
	}
	later := []observe.Record{records[0]}
	later[0].Seq = 801
	tree, err := Build(later, deployment("web"), Options{Missed: 700, CompleteAfter: 800})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []Format{Text, HTML} {
		if text := writeString(t, tree, f, Style{}); strings.Contains(text, "older record") || strings.Contains(text, "were dropped") {
			t.Errorf("all of its records are there:\n%s", text)
		}
	}
}

// Writes of a client that follow from one event have their own times.
func TestTimesOfClientWrites(t *testing.T) {
	var calls []observe.Called
	for range 3 {
		calls = append(calls, observe.Called{Verb: "create", Status: 403, Error: "no permission"})
	}
	records := clientCalls(append([]observe.Called{{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}}, calls...)...)
	for _, r := range records[1:] {
		c := r.Event.(*observe.Called)
		c.Controller, c.Object, c.Cause = "shop-operator", pod("a"), 9
	}
	records = append(records, observe.Record{Seq: 9, Time: records[0].Time.Add(1), Event: &observe.Delivered{
		Controller: "shop-operator", Change: observe.Added, Object: deployment("web"), ResourceVersion: "7",
	}})
	tree, err := Build(records, deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := writeString(t, tree, Text, Style{})
	for _, want := range []string{"+1.000 s", "+2.000 s", "+3.000 s"} {
		if !strings.Contains(text, want) {
			t.Errorf("no line at %s:\n%s", want, text)
		}
	}
}

// A chain that begins with what a user did is complete, whatever was dropped before.
func TestDroppedCausesAreSaid(t *testing.T) {
	for name, tc := range map[string]struct {
		verb          string
		completeAfter uint64
		want          bool
	}{
		"creation":            {"create", 0, false},
		"change, all later":   {"patch", 800, false},
		"change, some later":  {"patch", 950, true},
		"change, not known":   {"patch", 0, true},
		"removal, all later":  {"delete", 800, false},
		"removal, some later": {"delete", 950, true},
	} {
		records := clientCalls(observe.Called{Verb: tc.verb, ResourceVersion: "7", Wrote: deploymentWritten("7", tc.verb == "delete")})
		records[0].Seq = 900
		chain, err := Why(records, deployment("web"), Options{Missed: 573, CompleteAfter: tc.completeAfter})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []Format{Text, HTML} {
			text := writeString(t, chain, f, Style{})
			if got := strings.Contains(text, "573 older records"); got != tc.want {
				t.Errorf("%s: %s says that records were dropped: %v\n%.2000s", name, f, got, text)
			}
		}
	}
}
