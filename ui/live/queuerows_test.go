package live

import (
	"slices"
	"strings"
	"testing"

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

// twoQueues is a control plane with a controller whose second queue has neither workers that are known nor its name.
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

// The only row of a controller with several queues has the workers of all of them. Where each queue has a row, each is named.
func TestRowsOfSeveralQueues(t *testing.T) {
	source := twoQueues()
	m := newPlainModel(t, Options{Source: source}, 160, 60)
	if got := lineOf(m, "daemonset"); !strings.Contains(got, " ·/2 ") {
		t.Errorf("one row: %q", got)
	}
	if got := lineOf(newPlainModel(t, Options{Source: source}, 260, 60), "daemonset"); !strings.Contains(got, " 2 queues ") || !strings.Contains(got, " ·/2 ") {
		t.Errorf("with the column QUEUE: %q", got)
	}
	if got := lineOf(m, "garbage-collector"); !strings.Contains(got, " ·/15 ") || strings.Contains(got, "garbage-collector graph_changes") {
		t.Errorf("three queues with five workers each: %q", got)
	}
	m = pressKeys(t, m, "I")
	if got := lineOf(m, "daemonset node-updates"); got == "" || strings.Contains(got, "/2") {
		t.Errorf("the row of the second queue: %q", got)
	}
	if got := lineOf(m, " daemonset  "); !strings.Contains(got, " ·/2 ") {
		t.Errorf("the row of the first queue: %q", got)
	}
}

// A row with a long name that comes and goes does not move the columns each time.
func TestColumnsStayWhereTheyAre(t *testing.T) {
	source := twoQueues()
	m := newPlainModel(t, Options{Source: source}, 100, 60)
	source.snapshot.Queues = slices.Clone(source.snapshot.Queues)
	last := &source.snapshot.Queues[len(source.snapshot.Queues)-1]
	for i := range source.snapshot.Queues {
		if q := &source.snapshot.Queues[i]; q.Name == "daemonset" {
			q.Depth = 3
		}
	}
	last.Depth = 3
	m = pullOnce(t, m)
	with := lineOf(m, "DEPTH")
	if lineOf(m, "daemonset node-updates") == "" {
		t.Fatalf("no row of the second queue in\n%s", m.View().Content)
	}
	last.Depth = 0
	if m = pullOnce(t, m); lineOf(m, "daemonset node-updates") == "" && lineOf(m, "DEPTH") != with {
		t.Errorf("the headings were %q, then %q", with, lineOf(m, "DEPTH"))
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
