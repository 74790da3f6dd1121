package live

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// lineOf returns the line of the screen that has a text.
func lineOf(m model, text string) string {
	lines := m.drawScreen()
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, text) }); i >= 0 {
		return lines[i]
	}
	return ""
}

// twoQueues is a control plane with a controller that has a second queue, whose name is another one and whose workers are not known.
func twoQueues() *fixedSource {
	s := idleSnapshot()
	for i := range s.Queues {
		if q := &s.Queues[i]; q.Controller == "daemonset-controller" {
			q.Workers = 2
		}
	}
	s.Queues = append(s.Queues, observe.Queue{Controller: "daemonset-controller", Name: "daemonset-node-updates", Adds: 99, Gets: 99, Done: 99})
	return &fixedSource{snapshot: s}
}

// The only row of a controller with several queues has the workers and retries of all of them. Where each queue has a row, each is
// named.
func TestRowsOfSeveralQueues(t *testing.T) {
	source := twoQueues()
	m := newPlainModel(t, Options{Source: source}, 160, 60)
	if got := lineOf(m, "daemonset"); strings.Contains(got, "/") {
		t.Errorf("one row, with a number of workers although that of one queue is unknown: %q", got)
	}
	if got := lineOf(newPlainModel(t, Options{Source: source}, 260, 60), "daemonset"); !strings.Contains(got, " 2 queues ") || strings.Contains(got, "/") {
		t.Errorf("with the column QUEUE: %q", got)
	}
	if got := lineOf(m, "garbage-collector"); !strings.Contains(got, " ·/15 ") || strings.Contains(got, "garbage-collector graph_changes") {
		t.Errorf("three queues with five workers each: %q", got)
	}
	for i := range source.snapshot.Queues {
		if q := &source.snapshot.Queues[i]; q.Name == "garbage_collector_attempt_to_delete" {
			q.Retries, q.ErrorRetries = 24, 24
		}
	}
	if got := lineOf(pullOnce(t, m), "garbage-collector"); !strings.Contains(got, " 24 ") {
		t.Errorf("retries of a queue without a row: %q", got)
	}
	m = pressKeys(t, m, "I")
	if got := lineOf(m, "daemonset node-updates"); got == "" || strings.Contains(got, "/2") {
		t.Errorf("the row of the second queue: %q", got)
	}
	if got := lineOf(m, " daemonset  "); !strings.Contains(got, " ·/2 ") {
		t.Errorf("the row of the first queue: %q", got)
	}
}

// A row with a long name that comes and goes does not move the columns each time: they stay for a time.
func TestColumnsStayWhereTheyAre(t *testing.T) {
	source := twoQueues()
	m := newPlainModel(t, Options{Source: source}, 100, 60)
	pull := func(depth int64, after time.Duration) string {
		t.Helper()
		source.snapshot.Time = source.snapshot.Time.Add(after)
		source.snapshot.Queues = slices.Clone(source.snapshot.Queues)
		last := &source.snapshot.Queues[len(source.snapshot.Queues)-1]
		last.Depth, last.Adds = depth, 0 // with keys, a row beside the one that the controller always has
		if m = pullOnce(t, m); (lineOf(m, "daemonset node-updates") != "") != (depth > 0) {
			t.Fatalf("with %d keys:\n%s", depth, m.View().Content)
		}
		return lineOf(m, "DEPTH")
	}
	without, with := lineOf(m, "DEPTH"), pull(3, 0)
	if without == with {
		t.Fatalf("the name takes no room: %q", with)
	}
	if got := pull(0, time.Second); got != with {
		t.Errorf("the headings were %q, then %q", with, got)
	}
	if got := pull(0, scaleSeconds*time.Second); got != without {
		t.Errorf("the headings are still %q, want %q", got, without)
	}
}

// The order in which failing and busy rows come first has no heading: the view says when it is chosen.
func TestDefaultOrderHasAName(t *testing.T) {
	m := pressKeys(t, newPlainModel(t, Options{Source: twoQueues()}, 100, 30), ">")
	if m.sort.column == sortByActivity || m.message != "" {
		t.Fatalf("column %d, message %q", m.sort.column, m.message)
	}
	if m = pressKeys(t, m, "<"); m.message != "order: failing and busy rows first" {
		t.Errorf("message %q", m.message)
	}
	if m = pressKeys(t, m, "S"); m.message != "order: idle rows first" {
		t.Errorf("reversed: message %q", m.message)
	}
}
