package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommandParts(t *testing.T) {
	for only, want := range map[string]string{"commands": "jobs,sleepers,busy,busy10,busy100", "commands,busy,jobs": "busy,jobs"} {
		o := options{only: only}
		if err := o.parseOnly(); err != nil {
			t.Fatal(err)
		}
		parts, err := o.commandParts()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range parts {
			got = append(got, p.name)
			for _, row := range p.rows {
				if !strings.HasPrefix(row.key, p.name+"/") {
					t.Errorf("part %s has the row %s", p.name, row.key)
				}
			}
		}
		if strings.Join(got, ",") != want {
			t.Errorf("-only %s: %v, want %s", only, got, want)
		}
	}
	o := options{only: "commands,many"}
	if err := o.parseOnly(); err == nil || !strings.Contains(err.Error(), `unknown part "many" of commands`) {
		t.Errorf("got %v", err)
	}
}

// Differences and ratios are of the same run.
func TestFormatCommands(t *testing.T) {
	o := options{only: "commands,jobs", runs: 2}
	parts, err := o.commandParts()
	if err != nil {
		t.Fatal(err)
	}
	values := workloadValues{}
	for _, run := range [][2]float64{{2, 3}, {10, 10}} {
		values.add(without, "jobs", map[string]float64{"complete": run[0]})
		values.add(with, "jobs", map[string]float64{"complete": run[1]})
	}
	var rows []string
	for line := range strings.Lines(formatCommands(o, parts, values)) {
		if strings.HasPrefix(line, "|") {
			rows = append(rows, strings.Join(strings.Fields(line), " "))
		}
	}
	want := []string{
		"| | without | with | difference | with / without |",
		"| 1000 Jobs complete, s | 6.00 (2.00–10.0) | 6.50 (3.00–10.0) | +0.5 (+0–+1) | 1.25 (1.00–1.50) |",
	}
	if diff := cmp.Diff(want, append(rows[:1:1], rows[2])); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestSumMetrics(t *testing.T) {
	text := []byte("# HELP a\na 1.5e+01\nb{x=\"y\"} 3\nb 4\nab 100\n")
	if got, err := sumMetrics(text, "a", "b"); got != 19 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := sumMetrics(text, "a", "c"); err == nil {
		t.Error("a metric is missing")
	}
}
