package live

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestEveryKeyIsBoundOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range presentSections() {
		for _, b := range s.bindings {
			for _, k := range b.keys {
				if seen[k] && b.action != stepOnce { // one key steps writes and keys
					t.Errorf("%q is bound twice", k)
				}
				seen[k] = true
				if got := (model{}).actionFor(keyMsg(k).String()); got != b.action {
					t.Errorf("%q does %d, want %d", k, got, b.action)
				}
			}
		}
	}
}

func TestHelpDescribesEveryKey(t *testing.T) {
	m := pressKeys(t, newTestModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot()}, Output: &fixedOutput{}}, 140, 80), "?")
	var all strings.Builder
	for _, l := range m.overlayLines(140) {
		all.WriteString(l.plainText() + "\n")
	}
	for _, s := range presentSections() {
		for _, b := range s.bindings {
			if !strings.Contains(all.String(), b.description) {
				t.Errorf("the help lacks %q", b.description)
			}
			for _, k := range b.keys {
				if n := len(regexp.MustCompile(`(?m)^   (\S+ )*`+regexp.QuoteMeta(keyName(k))+` `).FindAllString(all.String(), -1)); n != 1 {
					t.Errorf("the help lists %s %d times", k, n)
				}
			}
		}
	}
	if m = pressKeys(t, m, "esc"); m.overlay != noOverlay {
		t.Error("esc does not close the help")
	}
}

// ? opens the help over a text, and goes back to where the text was. On a page it opens the help, too.
func TestHelpOverTexts(t *testing.T) {
	source := newBrowsableSource()
	pods := openPods(t, newPlainModel(t, Options{Source: source}, 100, 12))
	pods = pressKeys(t, pods, "j")
	told := sendMsgs(t, pods, pods.storyCmd(showTrace, target{object: &webPod})())
	yaml := pressKeys(t, pods, "e")
	warned := pods
	warned.warnings = []string{"slow"}
	for name, m := range map[string]model{"list": pods, "trace": pressKeys(t, told, "/", "c", "enter", "j"), "YAML": yaml, "warnings": pressKeys(t, warned, "W")} {
		before := m.View().Content
		for _, back := range []string{"?", "esc", "enter"} {
			help := pressKeys(t, m, "?")
			if help.overlay != helpOverlay || !strings.Contains(help.View().Content, "move down one line") {
				t.Errorf("%s: ? does not open the help:\n%s", name, help.View().Content)
			}
			if got := pressKeys(t, help, "j", "/", "x", "esc", back).View().Content; got != before {
				t.Errorf("%s: after %s\n%s", name, back, cmp.Diff(before, got))
			}
		}
	}
	if m := pressKeys(t, told, "W", "d"); m.overlay != textOverlay {
		t.Error("a key of another overlay closes a text")
	}
	if !strings.Contains(lastLine(told), "? help") {
		t.Errorf("keys of a text: %q", lastLine(told))
	}
}

// firstRows returns the names of the first n queues in the table.
func firstRows(m model, n int) []string {
	var names []string
	for _, r := range m.rows[:min(n, len(m.rows))] {
		names = append(names, r.name)
	}
	return names
}

func TestSort(t *testing.T) {
	m := newTestModel(t, Options{Source: &fixedSource{snapshot: burstSnapshot()}}, 250, 40)
	steps := []struct {
		keys []string
		want []string
	}{
		{nil, []string{"replicaset", "deployment", "endpoint_slice"}}, // activity
		{[]string{">"}, []string{"bootstrap-signer", "cronjob"}},      // controller: as shown, so that csr-approving comes later
		{[]string{"r"}, []string{"validatingadmissionpolicy-status", "ttl-after-finished"}},
		{[]string{">", ">", ">"}, []string{"replicaset", "deployment"}}, // depth
		{[]string{">", ">", ">", ">"}, []string{"deployment"}},          // retries
		{[]string{"<"}, []string{"replicaset", "deployment"}},           // done per second
		{[]string{"S"}, []string{""}},                                   // a controller without a queue
		{[]string{"<", "<", "<", "<", "<", "<", "<"}, []string{"replicaset", "deployment", "endpoint_slice"}},
	}
	for _, s := range steps {
		m = pressKeys(t, m, s.keys...)
		if got := firstRows(m, len(s.want)); !slices.Equal(got, s.want) {
			t.Errorf("after %v: %v, want %v", s.keys, got, s.want)
		}
	}
}

func TestFilter(t *testing.T) {
	m := newTestModel(t, Options{Source: &fixedSource{snapshot: burstSnapshot()}}, 120, 40)
	all := len(m.rows)
	m = pressKeys(t, m, "/", "g", "A", "r", "b", "space", "g", "r", "a", "p", "h")
	if got := firstRows(m, 9); !slices.Equal(got, []string{"garbage_collector_graph_changes"}) {
		t.Errorf("filtered: %v", got)
	}
	m = pressKeys(t, m, "backspace", "backspace", "backspace", "backspace", "backspace", "enter")
	if got := len(m.rows); got != 4 || m.typing != noInput { // three queues, and a controller without one
		t.Errorf("%d rows, typing %t; want 4, not typing", got, m.typing != noInput)
	}
	if m = pressKeys(t, m, "esc"); len(m.rows) != all {
		t.Errorf("%d rows after esc, want %d", len(m.rows), all)
	}
	m = pressKeys(t, m, "/", "q", "?")
	if m.askingQuit || m.overlay != noOverlay || m.activeFilter() != "q?" {
		t.Errorf("keys are not added to the filter: %q", m.activeFilter())
	}
	m = pressKeys(t, m, "esc", "tab", "/", "x")
	if m.currentScreen().feed.filter != "x" || m.currentScreen().filter != "" {
		t.Error("the filter does not apply to the focused pane")
	}
}

func TestFilterNamesHiddenMatches(t *testing.T) {
	m := newPlainModel(t, Options{Source: &fixedSource{snapshot: burstSnapshot()}}, 120, 40)
	m = pressKeys(t, m, "/", "g", "r", "a", "p", "h", "enter")
	if got := m.View().Content; strings.Contains(got, "hidden") {
		t.Errorf("nothing is hidden:\n%s", got)
	}
	m = pressKeys(t, m, "i")
	for _, want := range []string{"/graph, 3 of 23 active, 1 idle match hidden", "1 idle match is hidden: i shows it"} {
		if got := m.View().Content; !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	m = pressKeys(t, m, "esc", "/", "c", "o", "n", "t", "r", "enter")
	if got := m.View().Content; !strings.Contains(got, "idle matches hidden") || strings.Contains(got, "i shows") {
		t.Errorf("some matches are active:\n%s", got)
	}
}

func TestHideIdle(t *testing.T) {
	m := pressKeys(t, newTestModel(t, Options{Source: &fixedSource{snapshot: burstSnapshot()}}, 120, 40), "i")
	if got := len(m.rows); got != 3 {
		t.Errorf("%d rows, want the 3 that are active", got)
	}
	if m = pressKeys(t, m, "i"); len(m.rows) != 23 {
		t.Errorf("%d rows, want the 23 controllers", len(m.rows))
	}
	if m = pressKeys(t, m, "I"); len(m.rows) != 26 {
		t.Errorf("%d rows, want all 26 queues", len(m.rows))
	}
}

func TestFeedFollowsNewEntries(t *testing.T) {
	source := &fixedSource{snapshot: idleSnapshot(), records: podCreations(1, 100)}
	m := pressKeys(t, newPlainModel(t, Options{Source: source}, 100, 30), "tab")
	last := func(m model, want string) {
		t.Helper()
		lines := m.drawScreen()
		if line := strings.TrimRight(lines[len(lines)-2], " "); !strings.Contains(line, want+" ") {
			t.Errorf("the last line is %q, want %s", line, want)
		}
	}
	last(m, "web-99")
	m = pressKeys(t, m, "k")
	source.records = append(source.records, podCreations(101, 50)...)
	m = pullOnce(t, m)
	last(m, "web-99")
	if e, ok := m.currentScreen().feed.currentEntry(10); !ok || describeRecord(e.record).subject != "Pod default/web-98" {
		t.Errorf("the cursor is on %+v", e)
	}
	m = pressKeys(t, m, "G")
	last(m, "web-49")
	m = pressKeys(t, m, "g", "j")
	if e, _ := m.currentScreen().feed.currentEntry(10); describeRecord(e.record).subject != "Pod default/web-1" {
		t.Errorf("the cursor is on %+v", describeRecord(e.record))
	}
	last(pressKeys(t, m, "f"), "web-49")
	last(pressKeys(t, m, "f", "f"), "web-49") // stays at the end
	m = pressKeys(t, m, "pgdown", "ctrl+d", "ctrl+f", "pgup", "ctrl+u", "ctrl+b")
	if e, _ := m.currentScreen().feed.currentEntry(10); describeRecord(e.record).subject != "Pod default/web-1" {
		t.Errorf("after paging down and up the cursor is on %+v", describeRecord(e.record).subject)
	}
	last(pressKeys(t, m, "end"), "web-49")
}

func TestMissedRecordsAreShown(t *testing.T) {
	source := &fixedSource{snapshot: idleSnapshot(), records: podCreations(1, 5), missed: 1234}
	m := newPlainModel(t, Options{Source: source}, 100, 30)
	if got := m.View().Content; !strings.Contains(got, "… older records are not shown") {
		t.Errorf("the missed records are not shown:\n%s", got)
	}
	source.missed, source.records = 0, podCreations(6, 2*feedLimit) // more than a pull returns
	if m = pullOnce(t, m); !strings.Contains(pressKeys(t, m, "tab", "g").View().Content, "… 5,000 records not shown") {
		t.Errorf("the gap is not shown:\n%s", pressKeys(t, m, "tab", "g").View().Content)
	}
}

func TestBackStack(t *testing.T) {
	source := &inspectableSource{&fixedSource{snapshot: troubledSnapshot(), records: sampleRecords()}, webInspection()}
	m := newTestModel(t, Options{Source: source, Purpose: testPurpose}, 120, 40)
	kinds := func(m model) (k []screenKind) {
		for _, s := range m.screens {
			k = append(k, s.kind)
		}
		return k
	}
	is := func(m model, want ...screenKind) {
		t.Helper()
		if got := kinds(m); !slices.Equal(got, want) {
			t.Fatalf("screens %v, want %v", got, want)
		}
	}
	m = pullOnce(t, pressKeys(t, m, "enter"))
	is(m, queuesScreen, controllerScreen)
	m = pressKeys(t, m, "g", "enter") // the event of Job default/broken
	is(m, queuesScreen, controllerScreen)
	if m.overlay != textOverlay || !strings.Contains(m.View().Content, "updated Job default/broken") {
		t.Errorf("the line is not shown in full:\n%s", m.View().Content)
	}
	m = pressKeys(t, m, "enter")
	is(m, queuesScreen, controllerScreen, objectScreen)
	m = pullOnce(t, m)
	m = pressKeys(t, m, "j", "enter") // its owner
	is(m, queuesScreen, controllerScreen, objectScreen, objectScreen)
	if got := m.currentScreen().object; got != webDeployment {
		t.Errorf("opened %v, want %v", got, webDeployment)
	}
	m = pressKeys(t, m, "q", "esc")
	is(m, queuesScreen, controllerScreen, objectScreen, objectScreen)
	m = pressKeys(t, m, "esc", "esc")
	is(m, queuesScreen, controllerScreen)
	m = pressKeys(t, m, "esc", "esc", "esc")
	is(m, queuesScreen)
	for range 3 * maxScreens {
		m = m.openController("job-controller")
	}
	if got := len(m.screens); got != maxScreens || m.screens[0].kind != queuesScreen {
		t.Errorf("%d screens in the history, want %d", got, maxScreens)
	}
}

// TestCursor stays on the first row until it is moved or used; then it follows its row.
func TestCursor(t *testing.T) {
	source := &fixedSource{snapshot: idleSnapshot()}
	start := newTestModel(t, Options{Source: &intervenableSource{fixedSource: source}}, 100, 30)
	if got := start.selectedController(); got != "deployment-controller" {
		t.Fatalf("the cursor is on %s", got)
	}
	for name, c := range map[string]struct {
		keys []string
		want string
	}{
		"not moved":  {nil, "replicaset-controller"},
		"moved":      {[]string{"j", "k"}, "deployment-controller"},
		"to the top": {[]string{"j", "g"}, "replicaset-controller"},
		"paused":     {[]string{"p"}, "deployment-controller"},
	} {
		source.snapshot = idleSnapshot()
		m := pressKeys(t, start, c.keys...)
		source.snapshot = burstSnapshot()
		if got := pullOnce(t, m).selectedController(); got != c.want {
			t.Errorf("%s: the cursor is on %s, want %s", name, got, c.want)
		}
	}
}

// TestRowsAboveAreCounted has the title say that the cursor, which follows its row, has
// moved others off the screen.
func TestRowsAboveAreCounted(t *testing.T) {
	source := &fixedSource{snapshot: idleSnapshot()}
	m := pressKeys(t, newPlainModel(t, Options{Source: source}, 100, 30), "G")
	if got := m.View().Content; !strings.Contains(got, "0 of 23 active, 9 above") {
		t.Errorf("the rows above are not counted:\n%s", got)
	}
	if got := pressKeys(t, m, "g").View().Content; strings.Contains(got, "above") {
		t.Errorf("g does not go to the top:\n%s", got)
	}
}

func TestOpenQueueOfUnknownController(t *testing.T) {
	s := observe.Snapshot{Time: testNow, Queues: []observe.Queue{{Name: "stray", Depth: 1}}}
	m := pressKeys(t, newPlainModel(t, Options{Source: &fixedSource{snapshot: s}}, 100, 30), "enter")
	if got := m.View().Content; !strings.Contains(got, "? stray") || !strings.Contains(got, "the controller is unknown") {
		t.Errorf("the screen does not say that the controller is unknown:\n%s", got)
	}
	if m = pressKeys(t, m, "j"); m.message != "" {
		t.Error("the message stays after the next key")
	}
}

func TestQuit(t *testing.T) {
	tests := []struct {
		name  string
		o     Options
		keys  []string
		quits bool
		leave Leave
	}{
		{"asks", Options{}, []string{"q"}, false, Stop},
		{"stop", Options{}, []string{"q", "s"}, true, Stop},
		{"leave", Options{}, []string{"q", "l"}, true, KeepRunning},
		{"cancel", Options{}, []string{"q", "esc"}, false, Stop},
		{"other key", Options{}, []string{"q", "x"}, false, Stop},
		{"yes", Options{}, []string{"q", "y"}, true, Stop},
		{"yes, in capitals", Options{}, []string{"q", "Y"}, true, Stop},
		{"no", Options{}, []string{"q", "n", "y"}, false, Stop},
		{"ephemeral", Options{Ephemeral: true}, []string{"q"}, false, Stop},
		{"ephemeral, stop", Options{Ephemeral: true}, []string{"q", "s"}, true, Stop},
		{"attached", Options{Attached: true}, []string{"q"}, true, KeepRunning},
		{"attached to an ephemeral one", Options{Attached: true, Ephemeral: true}, []string{"q"}, true, KeepRunning},
		{"interrupted", Options{}, []string{"/", "ctrl+c"}, true, Stop},
		{"interrupted while attached", Options{Attached: true}, []string{"q", "ctrl+c"}, true, KeepRunning},
		{"in the help", Options{}, []string{"?", "q", "s"}, true, Stop},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Source = &fixedSource{snapshot: idleSnapshot()}
			m := newTestModel(t, tt.o, 80, 24)
			var cmd tea.Cmd
			for _, k := range tt.keys {
				m, cmd = m.handleKey(keyMsg(k))
			}
			quits := false
			if cmd != nil {
				_, quits = cmd().(tea.QuitMsg)
			}
			if quits != tt.quits || quits && m.leave != tt.leave {
				t.Errorf("quits %t and leaves %d, want %t and %d", quits, m.leave, tt.quits, tt.leave)
			}
		})
	}
}

// A hint says what the key does next: in the other state, it undoes what it has done.
func TestHintsFollowTheState(t *testing.T) {
	source := &inspectableSource{&fixedSource{snapshot: troubledSnapshot(), records: sampleRecords()}, webInspection()}
	output := &fixedOutput{}
	output.print("one", "two")
	queues := newPlainModel(t, Options{Source: source, Output: output}, 250, 40).readOutput()
	activity := pressKeys(t, queues, "o", "tab")
	for _, tc := range []struct {
		model      model
		key        string
		hint, undo string
	}{
		{queues, "o", "activity", "output"},
		{queues, "space", "freeze", "unfreeze"},
		{queues, "i", "hide idle", "show idle"},
		{queues, "I", "internal", "hide internal"},
		{pressKeys(t, queues, "tab"), "f", "hold", "follow"},
		{activity, "f", "hold", "follow"},
		{activity, "a", "all", "notable"},
		{pressKeys(t, pullOnce(t, queues.openObject(webDeployment)), "tab"), "a", "all", "no reads"},
		{pullOnce(t, queues.openObject(webDeployment)), "e", "YAML", "hide YAML"},
	} {
		m := tc.model
		for _, want := range []string{tc.hint, tc.undo, tc.hint} {
			requireHint(t, m, tc.key, want)
			m = pressKeys(t, m, tc.key)
		}
	}
}

// A key that changes nothing in the present state has no hint.
func TestNoHintsOfKeysWithoutEffect(t *testing.T) {
	records := sampleRecords()
	queues := newPlainModel(t, Options{Source: &fixedSource{snapshot: troubledSnapshot(), records: records}, Output: &fixedOutput{}}, 250, 40).readOutput()
	for _, tc := range []struct {
		keys []string
		key  string
	}{
		{[]string{"tab"}, "f"}, // the output is empty
		{[]string{"o", "tab", "space"}, "f"},
		{[]string{"/", "d", "enter"}, "I"}, // internal queues that match a filter are shown
		{[]string{"I", "/", "d", "enter"}, "I"},
	} {
		requireHint(t, pressKeys(t, queues, tc.keys...), tc.key, "")
	}
}

// requireHint requires a hint of a key in the footer; an empty one, that it has none.
func requireHint(t *testing.T, m model, key, want string) {
	t.Helper()
	footer := " " + m.footerLine(m.width).plainText() + "  "
	_, hint, _ := strings.Cut(footer, "  "+key+" ")
	if hint, _, _ = strings.Cut(hint, "  "); hint != want {
		t.Errorf("the hint of %s is %q, want %q: %s", key, hint, want, footer)
	}
}

// esc ends a filter or a search before it goes back.
func TestHintOfBack(t *testing.T) {
	source := &inspectableSource{&fixedSource{snapshot: troubledSnapshot(), records: sampleRecords()}, webInspection()}
	queues := newPlainModel(t, Options{Source: source}, 250, 40)
	object := pullOnce(t, queues.openObject(webDeployment))
	for _, tc := range []struct {
		model         model
		keys          []string
		before, after string
	}{
		{queues, []string{"/", "x", "enter"}, "clear filter", ""},
		{queues, []string{"tab", "/", "x", "enter"}, "clear filter", ""},
		{object, []string{"/", "x", "enter"}, "end search", "back"},
		{object, []string{"tab", "/", "x", "enter"}, "clear filter", "back"},
	} {
		m := pressKeys(t, tc.model, tc.keys...)
		requireHint(t, m, "esc", tc.before)
		requireHint(t, pressKeys(t, m, "esc"), "esc", tc.after)
	}
}

func TestQuitQuestionReplacesHelp(t *testing.T) {
	m := pressKeys(t, newPlainModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot()}}, 80, 24), "?", "q")
	if !strings.Contains(m.View().Content, "Stop the control plane?") {
		t.Error("the question is not visible")
	}
}
