package live

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/ctrlplane/ctrlplane/observe"
)

// fixedOutput is the output of a program.
type fixedOutput struct {
	lines []OutputLine
	state string
	bad   bool
}

func (f *fixedOutput) Lines(after uint64) ([]OutputLine, uint64) {
	return f.lines[min(after, uint64(len(f.lines))):], uint64(len(f.lines))
}

func (f *fixedOutput) State() (string, bool) { return f.state, f.bad }

func (f *fixedOutput) print(texts ...string) {
	for _, s := range texts {
		f.lines = append(f.lines, OutputLine{Time: testNow, Text: s})
	}
}

// newOutputModel returns a model with an output, in 100 × 30.
func newOutputModel(t *testing.T, f *fixedOutput) model {
	t.Helper()
	m := newTestModel(t, Options{Source: &fixedSource{snapshot: burstSnapshot(), records: podCreations(1, 10)}, Output: f}, 100, 30)
	return m.readOutput()
}

// lowerPane returns the text of the lower pane.
func lowerPane(m model) string {
	a := m.screenAreas()
	var rows []string
	for _, l := range m.feedLines(a.feed.w, a.feed.h) {
		rows = append(rows, strings.TrimRight(ansi.Strip(l), " "))
	}
	return strings.Join(rows, "\n")
}

func TestOutputBesideTheQueues(t *testing.T) {
	f := &fixedOutput{state: "run 2, running for 3s"}
	f.print("first", "\x1b[34mINFO\x1b[0m\tcoloured", "a\x07bell", "wide 日本")
	f.lines = append(f.lines, OutputLine{Time: testNow, Text: "main.go changed", Own: true})
	m := newOutputModel(t, f)
	want := []string{"Operator", "run 2, running for 3s", "12:00:05 first", "INFO    coloured", "abell", "wide 日本", "main.go changed"}
	got := lowerPane(m)
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("lacks %q:\n%s", w, got)
		}
	}
	if strings.Contains(got, "[34m") {
		t.Errorf("has the rest of an escape:\n%s", got)
	}
	if m = pressKeys(t, m, "o"); !strings.Contains(lowerPane(m), "Activity") {
		t.Errorf("o does not show Activity:\n%s", lowerPane(m))
	}
	if m = pressKeys(t, m, "o"); !strings.Contains(lowerPane(m), "first") {
		t.Errorf("o does not show the output again:\n%s", lowerPane(m))
	}
}

func TestOutputIsBrokenIntoRows(t *testing.T) {
	f := &fixedOutput{}
	long := strings.Repeat("0123456789", 25)
	f.print(long)
	got := lowerPane(newOutputModel(t, f))
	if joined := strings.Join(strings.Fields(got), ""); !strings.Contains(joined, long) {
		t.Errorf("a part of the line is missing:\n%s", got)
	}
	for _, l := range strings.Split(got, "\n") {
		if textWidth(l) > 100 {
			t.Errorf("a row has %d columns: %s", textWidth(l), l)
		}
	}
}

// TestOutputShowsTheBeginningOfALongLine prints a line, such as one with a stack trace, that
// does not fit into the pane.
func TestOutputShowsTheBeginningOfALongLine(t *testing.T) {
	f := &fixedOutput{}
	f.print("short", "begins here "+strings.Repeat("x", 5000)+" ends here")
	m := newOutputModel(t, f)
	got := lowerPane(m)
	if !strings.Contains(got, "begins here") || strings.Contains(got, "ends here") || !strings.HasSuffix(got, "…") {
		t.Errorf("got:\n%s", got)
	}
	if m = pressKeys(t, m, "tab", "k"); !strings.HasSuffix(lowerPane(m), "short") {
		t.Errorf("after k:\n%s", lowerPane(m))
	}
}

func TestOutputScrolls(t *testing.T) {
	f := &fixedOutput{}
	for i := range 100 {
		f.print(fmt.Sprintf("line %d.", i))
	}
	m := newOutputModel(t, f)
	last := func() string {
		rows := strings.Split(lowerPane(m), "\n")
		return rows[len(rows)-1]
	}
	requireLast := func(want string) {
		t.Helper()
		if got := last(); !strings.HasSuffix(got, want) {
			t.Errorf("the last row is %q, want %q", got, want)
		}
	}
	requireLast("line 99.")
	m = pressKeys(t, m, "tab", "k", "k")
	requireLast("line 97.")
	f.print("line 100.")
	m = m.readOutput()
	requireLast("line 97.")
	if got := lowerPane(m); !strings.Contains(got, "3 newer below") {
		t.Errorf("does not say what is below:\n%s", got)
	}
	m = pressKeys(t, m, "f")
	requireLast("line 100.")
	m = pressKeys(t, m, "g")
	requireLast("line 0.")
	m = pressKeys(t, m, "G")
	requireLast("line 100.")
	a := m.screenAreas()
	m = sendMsgs(t, m, tea.MouseWheelMsg{Button: tea.MouseWheelUp, X: 1, Y: a.feed.y + 1})
	requireLast("line 97.")
	m = pressKeys(t, m, "enter") // does nothing
	requireLast("line 97.")
}

// TestOutputIsBounded prints more than is kept.
func TestOutputIsBounded(t *testing.T) {
	f := &fixedOutput{}
	m := newOutputModel(t, f)
	for range 3 {
		f.print(make([]string, maxOutputLines)...)
		m = m.readOutput()
	}
	if got := len(m.output.lines); got != maxOutputLines {
		t.Errorf("keeps %d lines, want %d", got, maxOutputLines)
	}
	m = pressKeys(t, m, "tab", "g", "k")
	if want := uint64(2*maxOutputLines + 1); m.output.bottom != want {
		t.Errorf("the first line is %d, want %d", m.output.bottom, want)
	}
}

func TestNoOutput(t *testing.T) {
	m := newTestModel(t, Options{Source: &fixedSource{snapshot: burstSnapshot()}}, 100, 30)
	if m = pressKeys(t, m, "o"); m.message == "" || m.showsOutput() {
		t.Errorf("message %q, shows output: %t", m.message, m.showsOutput())
	}
}

// TestKeysInTheOutput has the operator's pane in focus: it has no cursor, so keys must not act on a
// line of Activity, which is not shown.
func TestKeysInTheOutput(t *testing.T) {
	f := &fixedOutput{}
	f.print("first")
	h := &intervenableSource{fixedSource: &fixedSource{snapshot: burstSnapshot(), records: podCreations(1, 10)}}
	source := struct {
		*intervenableSource
		observe.Inspector
	}{h, &inspectableSource{h.fixedSource, webInspection()}}
	m := pressKeys(t, newPlainModel(t, Options{Source: source, Output: f}, 100, 30).readOutput(), "o", "tab", "g")
	hints := func(m model) string {
		lines := m.drawScreen()
		return lines[len(lines)-1]
	}
	const offered = " enter open "
	if got := hints(m); !strings.Contains(got, offered) || !strings.Contains(got, "t trace") {
		t.Fatalf("in Activity the footer is %q", got)
	}
	m = pressKeys(t, m, "o")
	for _, hint := range []string{offered, "t trace", "w why", "e YAML", "p pause", "a all", "x stop"} {
		if got := hints(m); strings.Contains(got, hint) {
			t.Errorf("%q is offered: %q", hint, got)
		}
	}
	for _, key := range []string{"enter", "t", "w", "e", "p", "s", "x", "y", "a"} {
		next, cmd := m.Update(keyMsg(key))
		if next := next.(model); cmd != nil || next.message == "" || next.showAll || len(next.screens) > 1 || next.overlay != noOverlay || next.confirming != nil {
			t.Errorf("%s acts on what is not shown; message %q", key, next.message)
		}
	}
	if len(h.calls) > 0 {
		t.Errorf("interventions: %v", h.calls)
	}
}

// TestPastHasNoOutput goes back in time, where the lower pane shows what happened then.
func TestPastHasNoOutput(t *testing.T) {
	f := &fixedOutput{}
	f.print("of the present")
	list := frames()
	source := &fixedSource{snapshot: list[0].snapshot, records: list[0].records}
	m := newPlainModel(t, Options{Source: source, Output: f}, 100, 30).readOutput()
	source.snapshot, m.now = list[1].snapshot, list[1].snapshot.Time
	m = pullPast(t, pullOnce(t, m))
	if got := lowerPane(m); !strings.Contains(got, "Activity") {
		t.Errorf("the lower pane is\n%s", got)
	}
	if m = pressKeys(t, m, "o"); m.message == "" || m.showsOutput() {
		t.Errorf("message %q, shows output: %t", m.message, m.showsOutput())
	}
}
