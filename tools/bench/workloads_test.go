package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWorkloadSelection(t *testing.T) {
	const all = "nodes-0,nodes-1,nodes-10,nodes-100,nodes-1000,nodes-5000,first-ready,burst,many,scheduling,informers"
	for _, tt := range []struct{ only, baseline, contestants, parts string }{
		{"workloads", "", "ctrlplane,kwokctl", all},
		{"workloads", "other", "ctrlplane,baseline,kwokctl", all},
		{"workloads,burst,nodes-100", "", "ctrlplane,kwokctl", "nodes-100,burst"},
		{"workloads,baseline,ctrlplane,many", "other", "ctrlplane,baseline", "many"},
	} {
		o := options{only: tt.only, baseline: tt.baseline}
		if err := o.parseOnly(); err != nil {
			t.Fatal(err)
		}
		var contestants, parts []string
		for _, c := range o.workloadContestants() {
			contestants = append(contestants, c.name)
		}
		for _, p := range o.workloadParts() {
			parts = append(parts, p.name)
		}
		if got := strings.Join(contestants, ","); got != tt.contestants {
			t.Errorf("-only %s: contestants %s, want %s", tt.only, got, tt.contestants)
		}
		if got := strings.Join(parts, ","); got != tt.parts {
			t.Errorf("-only %s: parts %s, want %s", tt.only, got, tt.parts)
		}
	}
	for only, says := range map[string]string{
		"workloads,three":    `unknown contestant or part "three" of workloads`,
		"workloads,baseline": `"baseline"`, // without -baseline
	} {
		o := options{only: only}
		if err := o.parseOnly(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("-only %s: got %v, want %s", only, err, says)
		}
	}
}

// Ratios are of the same run: the machine may be slower in another one.
func TestFormatWorkloads(t *testing.T) {
	o := options{only: "workloads,burst", runs: 2}
	contestants := o.workloadContestants()
	values := workloadValues{}
	for _, got := range []struct {
		contestant string
		cpu        float64
	}{{"ctrlplane", 2}, {"kwokctl", 4}, {"ctrlplane", 9}, {"kwokctl", 12}} {
		values.add(got.contestant, "burst", map[string]float64{"cpu": got.cpu})
	}
	var rows []string
	for line := range strings.Lines(formatWorkloads(o, contestants, values)) {
		if strings.HasPrefix(line, "|") {
			rows = append(rows, strings.Join(strings.Fields(line), " "))
		}
	}
	want := []string{
		"| | ctrlplane | kwokctl | ctrlplane / kwokctl |",
		"| – CPU until then, s | 5.50 (2.00–9.00) | 8.00 (4.00–12.0) | 0.62 (0.50–0.75) |",
	}
	if diff := cmp.Diff(want, append(rows[:1:1], rows[2:]...)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
