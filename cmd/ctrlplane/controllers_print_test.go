package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/control"
)

// TestCountsOfAStoppedController: what it has counted are numbers, also zeros. What its queues have, or what one that never ran
// would have, is "-".
func TestCountsOfAStoppedController(t *testing.T) {
	var b bytes.Buffer
	err := printControllerTable(&b, []control.Controller{
		{Name: "stopped", State: "off", Work: control.Work{Syncs: 42, Failures: 11, Writes: 20}},
		{Name: "never", State: "off"},
		{Name: "idle", State: "running"},
	}, true)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	columns := regexp.MustCompile(` {2,}`)
	heads := columns.Split(lines[0], -1)
	for i, want := range []map[string]string{
		{"DEPTH": "-", "IN FLIGHT": "-", "RETRIES": "-", "SYNCS": "42", "FAILED": "11", "WRITES": "20", "CONFLICTS": "0", "ERRORS": "0"},
		{"DEPTH": "-", "RETRIES": "-", "SYNCS": "-", "FAILED": "-", "ERRORS": "-"},
		{"DEPTH": "0", "RETRIES": "0", "SYNCS": "0", "ERRORS": "0"},
	} {
		cells := columns.Split(lines[i+1], -1)
		for j, head := range heads {
			if want[head] != "" && cells[j] != want[head] {
				t.Errorf("%s: %s %s, want %s", cells[0], head, cells[j], want[head])
			}
		}
	}
}

// Without a terminal a reason is one line.
func TestReasonsAreFoldedForATerminalOnly(t *testing.T) {
	list := []control.Controller{{Name: "job-controller", State: "off", Reason: strings.TrimSpace(strings.Repeat("a reason ", 20))}}
	for columns, want := range map[string]int{"": 3, "80": 5} {
		t.Setenv("COLUMNS", columns)
		var b bytes.Buffer
		if err := printNarrowControllers(&b, list); err != nil || strings.Count(b.String(), "\n") != want {
			t.Errorf("COLUMNS=%q: %v\n%s", columns, err, &b)
		}
	}
}
