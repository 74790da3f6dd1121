package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/observe"
)

// longText is a text of 60 lines, of which three have "quota" and one "Quota:".
func longText() textView {
	var b strings.Builder
	for i := range 60 {
		what := "nothing"
		switch i {
		case 3, 30, 50:
			what = "exceeded quota"
		case 57:
			what = "Quota: small, quota: large"
		}
		fmt.Fprintf(&b, "line %d: %s\n", i, what)
	}
	return textView{title: "Trace of Job default/broken", object: &brokenJob, lines: plainLines(b.String())}
}

func typed(t *testing.T, m model, text string) model {
	t.Helper()
	return pressKeys(t, m, strings.Split(text, "")...)
}

// markedLine returns the line of the screen with the mark of the cursor.
func markedLine(m model) string {
	for _, l := range m.drawScreen() {
		if strings.HasPrefix(l, "▌") {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

// TestSearchInText goes through the matches of a text that covers the screen.
func TestSearchInText(t *testing.T) {
	m := newPlainModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot()}, Attached: true}, 80, 24).openText(longText())
	requireMatch := func(state, at string) {
		t.Helper()
		if screen := m.drawScreen(); !strings.Contains(screen[0], state) || !strings.Contains(markedLine(m), at) {
			t.Errorf("no %q in the title, or the line is not %q:\n%s", state, at, strings.Join(screen, "\n"))
		}
	}
	m = typed(t, m, "/quota")
	requireMatch("/quota: 1 of 4, lines 1–22 of 60", "line 3: exceeded quota")
	if last := m.drawScreen()[23]; !strings.Contains(last, "/quota") || !strings.Contains(last, "n N next, previous") {
		t.Errorf("the last line is %q", last)
	}
	m = pressKeys(t, m, "enter", "n")
	requireMatch("/quota: 2 of 4", "line 30:")
	m = pressKeys(t, m, "n", "n")
	requireMatch("/quota: 4 of 4, lines 39–60 of 60", "line 57:")
	m = pressKeys(t, m, "n")
	requireMatch("/quota: 1 of 4", "line 3:")
	m = pressKeys(t, m, "N")
	requireMatch("/quota: 4 of 4", "line 57:")
	m = pressKeys(t, m, "esc")
	if m.overlay != textOverlay || m.activeFilter() != "" || markedLine(m) != "" {
		t.Errorf("esc does not end the search only:\n%s", strings.Join(m.drawScreen(), "\n"))
	}
	m = typed(t, m, "/zzz")
	if got := m.drawScreen()[0]; !strings.Contains(got, "/zzz: no match") {
		t.Errorf("the title is %q", got)
	}
	if m = pressKeys(t, m, "esc", "esc"); m.overlay != noOverlay {
		t.Error("esc does not close the text")
	}
}

// TestLettersOfASearchDoNotAct types the letters of every action where / searches, and the
// view neither ends nor changes anything.
func TestLettersOfASearchDoNotAct(t *testing.T) {
	source := &inspectableSource{&fixedSource{snapshot: troubledSnapshot(), records: sampleRecords()}, webInspection()}
	start := newPlainModel(t, Options{Source: source, Attached: true}, 100, 30)
	for name, m := range map[string]model{
		"text": start.openText(longText()), "help": pressKeys(t, start, "?"), "record": pressKeys(t, start, "tab", "enter"),
		"yaml": pressKeys(t, openReplicaSet(t, start), "e"), "controller": pressKeys(t, start, "enter", "tab"),
	} {
		t.Run(name, func(t *testing.T) {
			before := m
			for _, key := range strings.Split("/qpsxdtwe[]yaicPnN,.?/fg:", "") {
				next, cmd := m.Update(keyMsg(key))
				m = next.(model)
				if cmd != nil {
					t.Errorf("%s acts", key)
				}
			}
			if m.typing != filterInput || m.activeFilter() != "qpsxdtwe[]yaicPnN,.?/fg:" {
				t.Errorf("searches %q", m.activeFilter())
			}
			m = pressKeys(t, m, "esc")
			if m.overlay != before.overlay || len(m.screens) != len(before.screens) || m.currentScreen().focus != before.currentScreen().focus {
				t.Error("the letters have changed what is shown")
			}
		})
	}
}

// TestSearchInPage searches in the upper pane of the page of an object.
func TestSearchInPage(t *testing.T) {
	inspection := webInspection()
	inspection.YAML = strings.Repeat("  filler: x\n", 40) + "  paused: true\n" + strings.Repeat("  filler: x\n", 40)
	m := newPlainModel(t, Options{Source: &inspectableSource{&fixedSource{snapshot: idleSnapshot(), records: sampleRecords()}, inspection}}, 100, 30)
	m = typed(t, pressKeys(t, openReplicaSet(t, m), "e"), "/paused")
	if got := markedLine(m); got != "▌  paused: true" {
		t.Errorf("the cursor is on %q:\n%s", got, strings.Join(m.drawScreen(), "\n"))
	}
	m = pressKeys(t, m, "enter", "esc")
	if m.currentScreen().kind != objectScreen {
		t.Error("esc leaves the page")
	}
	m = typed(t, pressKeys(t, m, "tab"), "/pod")
	if s := m.currentScreen(); s.feed.filter != "pod" || s.filter != "" {
		t.Errorf("Activity is not filtered: %q, %q", s.feed.filter, s.filter)
	}
}

func TestMatchesOf(t *testing.T) {
	l := line{{"Web ", strong}, {"wEb-ÄÖ", plain}, {"web", bad}}
	for wanted, want := range map[string][]int{"": nil, "web": {0, 4, 10}, "äö": {8}, "b w": {2}, "öweb": {9}, "webweb": nil} {
		if got := l.matchesOf(wanted); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", wanted, got, want)
		}
	}
	got := l.withMatches("b w")
	want := line{{"We", strong}, {"b w", found}, {"Eb-ÄÖ", plain}, {"web", bad}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestFilterOfOutput filters the lines of an operator's output.
func TestFilterOfOutput(t *testing.T) {
	f := &fixedOutput{}
	f.print("one", "two", "three two")
	m := typed(t, pressKeys(t, newOutputModel(t, f), "tab"), "/two")
	if got := lowerPane(m); strings.Contains(got, "one") || !strings.Contains(got, "three two") || !strings.Contains(got, "/two") {
		t.Errorf("got:\n%s", got)
	}
	if got := lowerPane(typed(t, m, "x")); !strings.Contains(got, "nothing matches the filter") {
		t.Errorf("got:\n%s", got)
	}
}

// failingKeys returns n keys that have failed twice.
func failingKeys(n int, err string) (keys []observe.FailingKey) {
	for i := range n {
		keys = append(keys, observe.FailingKey{Queue: "job", Key: fmt.Sprintf("default/broken-%d", i), KeyBasis: observe.BasisLog, Error: err, Times: 2})
	}
	return keys
}

// The title of a text says which lines are visible, not where its cursor is.
func TestTitleSaysWhichLinesAreVisible(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		dash := map[bool]string{false: "–", true: "-"}[ascii]
		m := newPlainModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot()}}, 100, 30).withTheme(newTheme(false, true, ascii))
		m = pressKeys(t, m, "?")
		n := len(m.overlayLines(m.width))
		for key, want := range map[string]string{
			"g": fmt.Sprintf("lines 1%s28 of %d ", dash, n),
			"j": fmt.Sprintf("lines 2%s29 of %d ", dash, n),
			"G": fmt.Sprintf("lines %d%s%d of %d ", n-27, dash, n, n),
		} {
			if title := pressKeys(t, m, key).drawScreen()[0]; !strings.Contains(title, want) {
				t.Errorf("%s: the title is %q, without %q", key, title, want)
			}
		}
		if title := sendMsgs(t, m, tea.WindowSizeMsg{Width: 100, Height: n + 2}).drawScreen()[0]; strings.Contains(title, "lines") {
			t.Errorf("all lines are visible, but the title is %q", title)
		}
	}
}
