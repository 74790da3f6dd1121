package live

import (
	"context"
	"errors"
	"image/color"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// browsableSource is a source with objects to list.
type browsableSource struct {
	*inspectableSource
	asked   []string
	listing health.Listing
	err     error
}

func (b *browsableSource) List(_ context.Context, kind string) (health.Listing, error) {
	b.asked = append(b.asked, kind)
	return b.listing, b.err
}

func (b *browsableSource) Describe(_ context.Context, o observe.Object) ui.ObjectState {
	for _, item := range b.listing.Items {
		if item.Object.Name == o.Name && item.Health != health.Current {
			return ui.ObjectState{Exists: true, Problem: "It is not ready: " + item.Reason + "."}
		}
	}
	return ui.ObjectState{}
}

func newBrowsableSource() *browsableSource {
	pod := func(name string, status health.Status, reason string) health.Listed {
		o := webPod
		o.Name = name
		return health.Listed{Object: o, Health: status, Reason: reason, Created: testNow.Add(-90 * time.Second)}
	}
	return &browsableSource{
		inspectableSource: &inspectableSource{&fixedSource{snapshot: idleSnapshot(), records: sampleRecords()}, webInspection()},
		listing: health.Listing{Kind: "Pod", Total: 3, Healthy: 1, Items: []health.Listed{
			pod("import-x7", "Failed", "Pod has failed"),
			pod("web-7d4b9c-x2x9p", "InProgress", "unschedulable: 0/3 nodes are available: 3 Insufficient cpu"),
			pod("web-7d4b9c-z", health.Current, "Pod is Ready"),
		}},
	}
}

func openPods(t *testing.T, m model) model {
	t.Helper()
	m = pressKeys(t, m, ":", "p", "o")
	next, cmd := m.Update(keyMsg("enter"))
	return sendMsgs(t, next.(model), cmd())
}

func TestBrowserListsObjectsWithTheirHealth(t *testing.T) {
	source := newBrowsableSource()
	m := openPods(t, newPlainModel(t, Options{Source: source}, 100, 24))
	if len(source.asked) != 1 || source.asked[0] != "po" {
		t.Errorf("asked for %q", source.asked)
	}
	expectScreen(t, "browser", m)
	m = pressKeys(t, m, "j")
	source.listing.Items = source.listing.Items[1:] // the first is gone: the cursor stays on its object
	m = sendMsgs(t, m, m.browseCmd("po")())
	if o := m.selectedObject(); o == nil || o.Name != "web-7d4b9c-x2x9p" {
		t.Errorf("selected %v", o)
	}
	if opened := pullOnce(t, pressKeys(t, m, "enter")); !strings.Contains(opened.View().Content, "reason      unschedulable: 0/3 nodes are available: 3 Insufficient cpu") {
		t.Errorf("the page lacks the reason:\n%s", opened.View().Content)
	}
	if opened := pressKeys(t, m, "enter"); opened.currentScreen().kind != objectScreen || opened.currentScreen().object.Name != "web-7d4b9c-x2x9p" {
		t.Errorf("opened %+v", opened.currentScreen().object)
	}
	if yaml := pullOnce(t, pressKeys(t, m, "e")); !yaml.currentScreen().yaml || !strings.Contains(yaml.View().Content, "kind: ReplicaSet") {
		t.Error("e does not show the YAML")
	}
	source.err = errors.New(`unknown kind "po"`)
	m = sendMsgs(t, m, m.browseCmd("po")())
	if got := m.View().Content; !strings.Contains(got, `unknown kind "po"`) || strings.Contains(got, "healthy") {
		t.Errorf("the error is not shown, or the count is that of an earlier list:\n%s", got)
	}
}

func TestTitleOfAListing(t *testing.T) {
	few := make([]health.Listed, 3)
	for want, l := range map[string]health.Listing{
		"2 of 3 healthy":                                  {Items: few, Total: 3, Healthy: 2},
		"4,990 of 5,000 healthy, 3 are listed":            {Items: few, Total: 5000, Healthy: 4990},
		"9,990 of the first 10,000 healthy, 3 are listed": {Items: few, Total: 10000, Healthy: 9990, More: true},
	} {
		if got := describeListing(l); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestBrowserPromptCanBeLeft(t *testing.T) {
	source := newBrowsableSource()
	for _, keys := range [][]string{{":", "p", "esc"}, {":", "enter"}, {":", "backspace"}} {
		m := pressKeys(t, newTestModel(t, Options{Source: source}, 100, 24), keys...)
		if m.typing != noInput || len(m.screens) != 1 {
			t.Errorf("%q: %d screens", keys, len(m.screens))
		}
	}
}

// Where no objects can be listed, the prompt says why, and the letters that follow do not act as keys.
func TestBrowserPromptWithoutObjects(t *testing.T) {
	for name, c := range map[string]struct {
		m   model
		why string
	}{
		"metrics":   {newPlainModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot()}}, 100, 24), "this source has no objects"},
		"recording": {newReplayModel(t, writeRecording(t, frames()), 100, 24), "a recording has no objects"},
	} {
		before := c.m.past
		m := pressKeys(t, c.m, ":", "p", "o", "d", "s", "?")
		if got := lastLine(m); !strings.Contains(got, ":pods?") || !strings.Contains(got, c.why) {
			t.Errorf("%s: %q", name, got)
		}
		if m = pressKeys(t, m, "enter"); m.typing != noInput || !strings.Contains(m.message, c.why) || len(m.screens) != 1 || m.overlay != noOverlay || m.past != before {
			t.Errorf("%s: message %q, %d screens, overlay %d, moved in time: %t", name, m.message, len(m.screens), m.overlay, m.past != before)
		}
	}
}

// Objects can be listed from a text, too, which the list takes the place of.
func TestBrowseFromAText(t *testing.T) {
	m := pressKeys(t, newPlainModel(t, Options{Source: newBrowsableSource()}, 100, 24), "?", ":", "p", "o", "enter")
	if m.overlay != noOverlay || !onBrowser(m) {
		t.Errorf("overlay %d, %d screens", m.overlay, len(m.screens))
	}
}

func lastLine(m model) string {
	lines := strings.Split(m.View().Content, "\n")
	return lines[len(lines)-1]
}

// t and w tell the story of the object under the cursor, from the records.
func TestStories(t *testing.T) {
	m := newPlainModel(t, Options{Source: newBrowsableSource()}, 100, 30)
	if m = pressKeys(t, m, "t"); !strings.Contains(m.message, "no object is selected") {
		t.Errorf("message %q", m.message)
	}
	m = openPods(t, m)
	m = pressKeys(t, m, "j")
	for key, title := range map[string]string{"t": "Trace of Pod default/web-7d4b9c-x2x9p", "w": "Why Pod default/web-7d4b9c-x2x9p"} {
		next, cmd := m.Update(keyMsg(key))
		told := sendMsgs(t, next.(model), cmd())
		got := told.View().Content
		if told.overlay != textOverlay || !strings.Contains(got, title) || !strings.Contains(got, "replicaset-controller") {
			t.Errorf("%s:\n%s", key, got)
		}
		if wrong := strings.Contains(got, "It is not ready: unschedulable: 0/3 nodes"); wrong != (key == "w") {
			t.Errorf("%s says what is wrong: %v\n%s", key, wrong, got)
		}
		expectFits(t, told)
	}
	m = pressKeys(t, m, "g") // nothing is recorded about the first
	next, cmd := m.Update(keyMsg("t"))
	if told := sendMsgs(t, next.(model), cmd()); told.overlay != noOverlay || !strings.Contains(told.message, "import-x7") {
		t.Errorf("message %q", told.message)
	}
	next, cmd = m.Update(keyMsg("w"))
	told := sendMsgs(t, next.(model), cmd())
	if got := told.View().Content; told.overlay != textOverlay || !strings.Contains(got, "It is not ready: Pod has failed.") || !strings.Contains(got, "no such object") {
		t.Errorf("w without records:\n%s", got)
	}
}

func TestCopies(t *testing.T) {
	m := newPlainModel(t, Options{Source: newBrowsableSource()}, 100, 30)
	long := pressKeys(t, m, "tab", "g", "/", "4", "0", "3", "enter") // an error that the screen cuts
	for name, c := range map[string]struct {
		m    model
		want string
	}{
		"controller": {m, "deployment-controller"},
		"object":     {pressKeys(t, openPods(t, m), "j"), "pods/web-7d4b9c-x2x9p"},
		"line":       {long, `pods 10+1 of 10`},
		"record":     {pressKeys(t, long, "enter"), "error: pods \"broken-\" is forbidden"},
	} {
		_, text := c.m.selectedText()
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: copies %q, want %q", name, text, c.want)
		}
		copied, cmd := c.m.performAction(copySelected)
		if cmd == nil || !strings.Contains(copied.message, "OSC 52") {
			t.Errorf("%s: message %q", name, copied.message)
		}
	}
}

// What is copied is pasted into a shell: names of roles and of clients may be its commands.
func TestCopiedNamesAreQuoted(t *testing.T) {
	src := newBrowsableSource()
	src.snapshot.Clients = []observe.Client{{Name: "x;reboot (admin)", State: "running", Requests: 1}}
	m := newPlainModel(t, Options{Source: src}, 100, 30)
	m.shell = ui.POSIX
	role := m.newScreen(objectScreen)
	role.object = observe.Object{Group: "rbac.authorization.k8s.io", Resource: "roles", Namespace: "shop", Name: "$(reboot)"}
	for want, m := range map[string]model{
		`'roles.rbac.authorization.k8s.io/$(reboot)' -n shop`: m.pushScreen(role),
		`'x;reboot (admin)'`: m.pushScreen(m.newScreen(clientsScreen)),
	} {
		if what, text := m.selectedText(); text != want || strings.HasPrefix(what, "'") {
			t.Errorf("%s: copies %q, want %q", what, text, want)
		}
	}
}

// Every line of the feed can be read in full, at any width.
func TestRecordsAreShownInFull(t *testing.T) {
	for _, w := range []int{minWidth, 80, 100} {
		m := pressKeys(t, newPlainModel(t, Options{Source: newBrowsableSource()}, w, 24), "tab", "g")
		for range len(m.currentScreen().feed.entries) {
			opened := pressKeys(t, m, "enter")
			if opened.overlay != textOverlay {
				t.Fatalf("%d columns: the line was not opened", w)
			}
			expectFits(t, opened)
			for _, l := range opened.overlayLines(w) {
				if l.width() > w {
					t.Errorf("%d columns: %q", w, l.plainText())
				}
			}
			m = pressKeys(t, opened, "esc", "j")
		}
	}
}

// Themes: the terminal's own palette until its background is known or if it has no other,
// and no colour at all for mono.
func TestThemes(t *testing.T) {
	white, black := tea.BackgroundColorMsg{Color: color.White}, tea.BackgroundColorMsg{Color: color.Black}
	source := &fixedSource{snapshot: troubledSnapshot(), records: sampleRecords()}
	for name, c := range map[string]struct {
		theme    string
		msgs     []tea.Msg
		has, not string
	}{
		"unknown background": {"", nil, "\x1b[2m", "38;5;"},
		"dark":               {"", []tea.Msg{black}, "38;5;245", "38;5;243"},
		"light":              {"", []tea.Msg{white}, "38;5;243", "38;5;245"},
		"forced light":       {"light", []tea.Msg{black}, "38;5;243", "38;5;245"},
		"forced dark":        {"dark", nil, "38;5;245", "38;5;243"},
		"16 colours":         {"", []tea.Msg{black, tea.ColorProfileMsg{Profile: colorprofile.ANSI}}, "\x1b[36m", "38;5;"},
		"mono":               {"mono", []tea.Msg{white}, "\x1b[1m", "\x1b[3"},
		"no colour":          {"", []tea.Msg{tea.ColorProfileMsg{Profile: colorprofile.ASCII}}, "deployment", "\x1b["},
	} {
		m := sendMsgs(t, newTestModel(t, Options{Source: source, Theme: c.theme}, 100, 30), c.msgs...)
		got := m.View().Content
		if !strings.Contains(got, c.has) || strings.Contains(got, c.not) {
			t.Errorf("%s: want %q and no %q in\n%q", name, c.has, c.not, got)
		}
		expectFits(t, m)
	}
	if CheckTheme("auto") != nil || CheckTheme("blue") == nil {
		t.Error("themes are not checked")
	}
}

func TestSortsByWhatPeopleKnow(t *testing.T) {
	s := idleSnapshot()
	s.Queues = append(s.Queues, observe.Queue{Controller: "kube-apiserver", Name: "crdEstablishing", AddRate: 1, DoneRate: 1})
	s.Controllers = append(s.Controllers, observe.Controller{Name: "kube-apiserver"})
	for i := range s.Queues { // at the heartbeat of a node
		switch q := &s.Queues[i]; q.Name {
		case "ttl-after-finished", "resourcequota", "garbage_collector_graph_changes":
			q.MaxDepth, q.AddRate, q.DoneRate = 1, 0.2, 0.2
		}
	}
	s.Controllers = append(s.Controllers, observe.Controller{Name: "operator/site", State: stateRunning})
	s.Queues = append(s.Queues, observe.Queue{Controller: "operator/site", Name: "site"})
	m := newPlainModel(t, Options{Source: &fixedSource{snapshot: s}}, 80, 24)
	if got := firstRows(m, 4); got[0] != "site" || got[1] != "deployment" || got[2] != "replicaset" || got[3] != "statefulset" {
		t.Errorf("idle: %v", got)
	}
	if slices.Contains(firstRows(m, len(m.rows)), "crdEstablishing") {
		t.Error("an internal queue is shown")
	}
	if m = pressKeys(t, m, "I"); !slices.Contains(firstRows(m, len(m.rows)), "crdEstablishing") {
		t.Error("an internal queue is not shown after I")
	}
}
