package live

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

func clickAt(t *testing.T, m model, x, y int) model {
	t.Helper()
	return sendMsgs(t, m, tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
}

func TestClickSelectsThenOpens(t *testing.T) {
	source := &inspectableSource{&fixedSource{snapshot: burstSnapshot(), records: podCreations(1, 40)}, webInspection()}
	m := newTestModel(t, Options{Source: source}, 120, 30)
	y := m.screenAreas().upper.y + 2 // below the title and the headings
	m = clickAt(t, m, 10, y+1)
	if got := m.currentScreen(); got.kind != queuesScreen || got.view.cursor != 1 {
		t.Fatalf("a click selected line %d of screen %d", got.view.cursor, got.kind)
	}
	if opened := clickAt(t, m, 10, y); opened.currentScreen().kind != queuesScreen {
		t.Error("a click on another line opened it")
	}
	if opened := clickAt(t, pressKeys(t, m, "k", "j"), 10, y+1); opened.currentScreen().kind != queuesScreen {
		t.Error("a second click after other keys opened the line")
	}
	m = clickAt(t, m, 10, y+1)
	if got := m.currentScreen(); got.kind != controllerScreen || got.controller != "deployment-controller" {
		t.Fatalf("the second click opened %+v", got)
	}
	m = pressKeys(t, m, "esc")
	feed := m.screenAreas().feed
	m = clickAt(t, m, 10, feed.y+3)
	if m.currentScreen().focus != feedPane || m.currentScreen().feed.following {
		t.Error("a click did not select a line of the feed")
	}
	m = pressKeys(t, clickAt(t, m, 10, feed.y+3), "enter")
	if got := m.currentScreen(); got.kind != objectScreen {
		t.Errorf("the second click opened screen %d", got.kind)
	}
	m = clickAt(t, pullOnce(t, m), 20, m.screenAreas().upper.y+2)
	m = clickAt(t, m, 20, m.screenAreas().upper.y+2)
	if got := m.currentScreen().object; got != webDeployment {
		t.Errorf("opened %v, want the owner", got)
	}
}

func TestClickOnHeadingSorts(t *testing.T) {
	m := newTestModel(t, Options{Source: &fixedSource{snapshot: burstSnapshot()}}, 250, 30)
	heading := m.screenAreas().upper.y + 1
	for _, c := range m.placedColumns() {
		if c.compare == nil {
			continue
		}
		x := tableMargin + c.x + c.w - 1
		sorted := clickAt(t, m, x, heading)
		if sorted.sort != (sortOrder{column: c.id}) {
			t.Errorf("a click on %s sorted by %+v", c.heading, sorted.sort)
		}
		if again := clickAt(t, sorted, x, heading); again.sort != (sortOrder{c.id, true}) {
			t.Errorf("a second click on %s sorted by %+v", c.heading, again.sort)
		}
	}
}

func TestWheel(t *testing.T) {
	m := newTestModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot(), records: podCreations(1, 100)}}, 120, 24)
	a := m.screenAreas()
	down := tea.MouseWheelMsg{X: 5, Y: a.upper.y + 2, Button: tea.MouseWheelDown}
	m = sendMsgs(t, m, down, down)
	if got := m.currentScreen().view.top; got != 2*wheelStep {
		t.Errorf("the table scrolled to %d", got)
	}
	up := tea.MouseWheelMsg{X: 5, Y: a.feed.y + 2, Button: tea.MouseWheelUp}
	m = sendMsgs(t, m, up)
	if m.currentScreen().feed.following || m.currentScreen().focus != upperPane {
		t.Error("the feed still follows, or took the focus")
	}
	up.Button = tea.MouseWheelDown
	if m = sendMsgs(t, m, up); !m.currentScreen().feed.following {
		t.Error("the feed does not follow at its end")
	}
	m = pressKeys(t, m, "?")
	m = sendMsgs(t, m, down)
	if got := m.overlayView.top; got != wheelStep {
		t.Errorf("the help scrolled to %d", got)
	}
}
