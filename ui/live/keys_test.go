package live

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestEveryKeyIsBoundOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sections() {
		for _, b := range s.bindings {
			for _, k := range b.keys {
				if seen[k] {
					t.Errorf("%q is bound twice", k)
				}
				seen[k] = true
				if got := bound(keyMsg(k).String()); got != b.action {
					t.Errorf("%q does %d, want %d", k, got, b.action)
				}
			}
		}
	}
}

func TestHelpTellsEveryKey(t *testing.T) {
	m := press(t, shown(t, Options{Source: &fixed{snapshot: idle()}}, 140, 80), "?")
	var all strings.Builder
	for _, l := range m.overlayLines(140) {
		all.WriteString(l.plain() + "\n")
	}
	for _, s := range sections() {
		for _, b := range s.bindings {
			if !strings.Contains(all.String(), b.does) {
				t.Errorf("the help does not say %q", b.does)
			}
		}
	}
	if m = press(t, m, "esc"); m.overlay != noOverlay {
		t.Error("esc does not leave the help")
	}
}

// firstRows are the names of the first queues of the table.
func firstRows(m model, n int) []string {
	var names []string
	for _, r := range m.rows[:min(n, len(m.rows))] {
		names = append(names, r.name)
	}
	return names
}

func TestSort(t *testing.T) {
	m := shown(t, Options{Source: &fixed{snapshot: burst()}}, 250, 40)
	steps := []struct {
		keys []string
		want []string
	}{
		{nil, []string{"replicaset", "deployment", "endpoint_slice"}},                        // activity
		{[]string{">"}, []string{"bootstrap-signer", "certificatesigningrequest-approving"}}, // controller
		{[]string{"r"}, []string{"validatingadmissionpolicy-status", "ttl-after-finished"}},
		{[]string{">", ">", ">"}, []string{"replicaset", "deployment"}}, // depth
		{[]string{">", ">", ">", ">"}, []string{"deployment"}},          // retries
		{[]string{"<"}, []string{"replicaset", "deployment"}},           // done a second
		{[]string{"S"}, []string{""}},                                   // a controller without a queue
		{[]string{"<", "<", "<", "<", "<", "<", "<"}, []string{"replicaset", "deployment", "endpoint_slice"}},
	}
	for _, s := range steps {
		m = press(t, m, s.keys...)
		if got := firstRows(m, len(s.want)); !slices.Equal(got, s.want) {
			t.Errorf("after %v: %v, want %v", s.keys, got, s.want)
		}
	}
}

func TestFilter(t *testing.T) {
	m := shown(t, Options{Source: &fixed{snapshot: burst()}}, 120, 40)
	all := len(m.rows)
	m = press(t, m, "/", "g", "A", "r", "b", "space", "g", "r", "a", "p", "h")
	if got := firstRows(m, 9); !slices.Equal(got, []string{"garbage_collector_graph_changes"}) {
		t.Errorf("filtered: %v", got)
	}
	m = press(t, m, "backspace", "backspace", "backspace", "backspace", "backspace", "enter")
	if got := len(m.rows); got != 4 || m.typing { // three queues, and a controller without one
		t.Errorf("%d rows, typing %t; want 4 and not", got, m.typing)
	}
	if m = press(t, m, "esc"); len(m.rows) != all {
		t.Errorf("%d rows after esc, want %d", len(m.rows), all)
	}
	m = press(t, m, "/", "q", "?")
	if m.asking || m.overlay != noOverlay || m.filter() != "q?" {
		t.Errorf("keys go elsewhere while a filter is typed: %q", m.filter())
	}
	m = press(t, m, "esc", "tab", "/", "x")
	if m.top().feed.filter != "x" || m.top().filter != "" {
		t.Error("the filter is not that of the pane with the focus")
	}
}

func TestHideIdle(t *testing.T) {
	m := press(t, shown(t, Options{Source: &fixed{snapshot: burst()}}, 120, 40), "i")
	if got := len(m.rows); got != 3 {
		t.Errorf("%d rows, want the 3 that are active", got)
	}
	if m = press(t, m, "i"); len(m.rows) != 26 {
		t.Errorf("%d rows, want all 26", len(m.rows))
	}
}

func TestFollow(t *testing.T) {
	source := &fixed{snapshot: idle(), records: writes(1, 100)}
	m := press(t, shown(t, Options{Source: source, NoColor: true}, 100, 30), "tab")
	last := func(m model, want string) {
		t.Helper()
		lines := m.draw()
		if line := strings.TrimRight(lines[len(lines)-2], " "); !strings.Contains(line, want+" ") {
			t.Errorf("the last line is %q, want %s", line, want)
		}
	}
	last(m, "web-99")
	m = press(t, m, "k")
	source.records = append(source.records, writes(101, 50)...)
	m = pullOnce(t, m)
	last(m, "web-99")
	if e, ok := m.top().feed.current(10); !ok || describe(e.record).what != "Pod default/web-98" {
		t.Errorf("the cursor is on %+v", e)
	}
	m = press(t, m, "G")
	last(m, "web-49")
	m = press(t, m, "g", "j")
	if e, _ := m.top().feed.current(10); describe(e.record).what != "Pod default/web-1" {
		t.Errorf("the cursor is on %+v", describe(e.record))
	}
	last(press(t, m, "f"), "web-49")
	last(press(t, m, "f", "f"), "web-49") // it stays where it was
	m = press(t, m, "pgdown", "ctrl+d", "ctrl+f", "pgup", "ctrl+u", "ctrl+b")
	if e, _ := m.top().feed.current(10); describe(e.record).what != "Pod default/web-1" {
		t.Errorf("pages forth and back end on %+v", describe(e.record).what)
	}
	last(press(t, m, "end"), "web-49")
}

func TestMissedIsSaid(t *testing.T) {
	source := &fixed{snapshot: idle(), records: writes(1, 5), missed: 1234}
	m := shown(t, Options{Source: source, NoColor: true}, 100, 30)
	if got := m.View().Content; !strings.Contains(got, "… 1,234 not shown") {
		t.Errorf("nothing of what was missed in\n%s", got)
	}
}

func TestBackStack(t *testing.T) {
	source := &inspectable{&fixed{snapshot: troubled(), records: happened()}, webInspection()}
	m := shown(t, Options{Source: source, Purpose: purposes}, 120, 40)
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
	m = pullOnce(t, press(t, m, "enter"))
	is(m, queuesScreen, controllerScreen)
	m = press(t, m, "g", "enter") // the event of Job default/broken
	is(m, queuesScreen, controllerScreen, objectScreen)
	m = pullOnce(t, m)
	m = press(t, m, "j", "enter") // its owner
	is(m, queuesScreen, controllerScreen, objectScreen, objectScreen)
	if got := m.top().object; got != web {
		t.Errorf("opened %v, want %v", got, web)
	}
	m = press(t, m, "q", "esc")
	is(m, queuesScreen, controllerScreen, objectScreen, objectScreen)
	m = press(t, m, "esc", "esc")
	is(m, queuesScreen, controllerScreen)
	m = press(t, m, "esc", "esc", "esc")
	is(m, queuesScreen)
	for range 3 * maxScreens {
		m = m.openController("job-controller")
	}
	if got := len(m.screens); got != maxScreens || m.screens[0].kind != queuesScreen {
		t.Errorf("%d screens are kept, want %d", got, maxScreens)
	}
}

func TestUnknownOwner(t *testing.T) {
	s := observe.Snapshot{Time: now, Queues: []observe.Queue{{Name: "stray", Depth: 1}}}
	m := press(t, shown(t, Options{Source: &fixed{snapshot: s}, NoColor: true}, 100, 30), "enter")
	if got := m.View().Content; !strings.Contains(got, "? stray") || !strings.Contains(got, "nothing tells which controller") {
		t.Errorf("the screen does not say that the owner is unknown:\n%s", got)
	}
	if m = press(t, m, "j"); m.said != "" {
		t.Error("the word stays after the next key")
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
		{"ephemeral", Options{Ephemeral: true}, []string{"q"}, true, Stop},
		{"attached", Options{Attached: true}, []string{"q"}, true, KeepRunning},
		{"attached to an ephemeral one", Options{Attached: true, Ephemeral: true}, []string{"q"}, true, KeepRunning},
		{"interrupted", Options{}, []string{"/", "ctrl+c"}, true, Stop},
		{"interrupted while attached", Options{Attached: true}, []string{"q", "ctrl+c"}, true, KeepRunning},
		{"in the help", Options{}, []string{"?", "q", "s"}, true, Stop},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Source = &fixed{snapshot: idle()}
			m := shown(t, tt.o, 80, 24)
			var cmd tea.Cmd
			for _, k := range tt.keys {
				m, cmd = m.key(keyMsg(k))
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

func TestQuestionShowsOverHelp(t *testing.T) {
	m := press(t, shown(t, Options{Source: &fixed{snapshot: idle()}, NoColor: true}, 80, 24), "?", "q")
	if !strings.Contains(m.View().Content, "Stop the control plane?") {
		t.Error("the question cannot be seen")
	}
}
