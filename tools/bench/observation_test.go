package main

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// observationResults returns results of two rounds; in the second, everything is slower
// and observation costs more.
func observationResults() *results {
	r := newTestResults(2, map[string]map[string]float64{
		hooksOff:     {"ready": 0.5, "rss": 240, "cpuIdle": 0, "pods100x10": 1, "cpu100x10": 1.8, "pods500x10": 5, "cpu500x10": 9},
		hooksOn:      {"ready": 0.5, "rss": 243, "cpuIdle": 1, "pods100x10": 1.01, "cpu100x10": 1.82, "pods500x10": 5.1, "cpu500x10": 9.1},
		viewAttached: {"ready": 0.5, "rss": 244, "cpuIdle": 2, "pods100x10": 1.02, "cpu100x10": 1.84, "cpuView100x10": 0.1, "pods500x10": 5, "cpu500x10": 9.2, "cpuView500x10": 0.4},
	}, observationContestants()...)
	for _, s := range r.Samples {
		if s.Run == 2 && s.Contestant != hooksOff {
			s.Values["cpu500x10"] += 0.2
		}
	}
	return r
}

func TestFormatObservationCost(t *testing.T) {
	testutil.Golden(t, "testdata/cost.golden", []byte(formatReport(observationResults())))
}

func TestReportWithObservationCost(t *testing.T) {
	r := newTestResults(1, testValues(), "ctrlplane")
	r.Samples = append(r.Samples, observationResults().Samples...)
	testutil.Golden(t, "testdata/both.golden", []byte(formatReport(r)))
}

func TestObservationCostOfInterruptedBench(t *testing.T) {
	r := observationResults()
	r.Samples = r.Samples[2:3]
	testutil.Golden(t, "testdata/cost-cut-short.golden", []byte(formatObservationCost(r)))
}

func TestPercentChangesPairsRuns(t *testing.T) {
	r := &results{Samples: []sample{
		{Contestant: hooksOff, Run: 1, Values: map[string]float64{"cpu": 10}},
		{Contestant: hooksOn, Run: 1, Values: map[string]float64{"cpu": 11}},
		{Contestant: hooksOn, Run: 2, Values: map[string]float64{"cpu": 18}},
		{Contestant: hooksOff, Run: 2, Values: map[string]float64{"cpu": 20}},
		{Contestant: hooksOn, Run: 3, Values: map[string]float64{"cpu": 99}},
		{Contestant: viewAttached, Run: 1, Values: map[string]float64{"cpu": 99}},
		{Contestant: hooksOff, Run: 4, Values: map[string]float64{"cpu": 0}},
		{Contestant: hooksOn, Run: 4, Values: map[string]float64{"cpu": 1}},
	}}
	got := r.percentChanges(hooksOff, hooksOn, "cpu")
	for i := range got {
		got[i] = math.Round(got[i]*1000) / 1000
	}
	if diff := cmp.Diff([]float64{10, -10}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFormatPercent(t *testing.T) {
	for _, tt := range []struct {
		changes []float64
		want    string
	}{
		{nil, "n/a"},
		{[]float64{1.24}, "+1.2 %"},
		{[]float64{1.241, 1.242}, "+1.2 %"},
		{[]float64{3, -1, 2}, "+2.0 % (-1.0 – +3.0)"},
	} {
		if got := formatPercent(tt.changes); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.changes, got, tt.want)
		}
	}
}

func TestScheduleRuns(t *testing.T) {
	o := options{only: "three,cost,ctrlplane", runs: 2, rounds: 2}
	names := func(o options) (list []string) {
		for _, together := range o.groupRuns() {
			var group []string
			for _, t := range together {
				group = append(group, t.contestant)
			}
			list = append(list, strings.Join(group, "+"))
		}
		return list
	}
	want := []string{"three", "ctrlplane", "three", "ctrlplane", hooksOff, hooksOn, viewAttached, viewAttached, hooksOn, hooksOff}
	if diff := cmp.Diff(want, names(o)); diff != "" {
		t.Error(diff)
	}
	o.beside = true
	want = []string{"three", "ctrlplane", "three", "ctrlplane", "hooks-off+hooks-on+view-attached", "view-attached+hooks-on+hooks-off"}
	if diff := cmp.Diff(want, names(o)); diff != "" {
		t.Errorf("beside each other: %s", diff)
	}
}

func TestInStep(t *testing.T) {
	failure := errors.New("it failed")
	for want, titles := range map[string][]string{
		"a … 1 s\n": {"a"},
		"a beside b … \n  a: 1 s\n  b: failed\n": {"a", "b"},
	} {
		var progress strings.Builder
		errs := inStep(&progress, titles, func(i int) (string, error) {
			if !strings.HasSuffix(progress.String(), " … ") {
				t.Errorf("printed before the runs: %q", progress.String())
			}
			return "1 s", map[int]error{1: failure}[i]
		})
		if got := progress.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if len(errs) != len(titles) || errs[0] != nil || len(errs) == 2 && !errors.Is(errs[1], failure) {
			t.Errorf("got %v", errs)
		}
	}
}
