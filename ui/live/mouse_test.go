package live

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

func clickAt(t *testing.T, m model, x, y int) model {
	t.Helper()
	return send(t, m, tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
}

func TestClickSelectsThenOpens(t *testing.T) {
	source := &inspectable{&fixed{snapshot: burst(), records: writes(1, 40)}, webInspection()}
	m := shown(t, Options{Source: source}, 120, 30)
	y := m.areas().upper.y + 2 // below the title and the headings
	m = clickAt(t, m, 10, y+1)
	if got := m.top(); got.kind != queuesScreen || got.list.cursor != 1 {
		t.Fatalf("a click selects line %d of screen %d", got.list.cursor, got.kind)
	}
	if opened := clickAt(t, m, 10, y); opened.top().kind != queuesScreen {
		t.Error("a click on another line opens it")
	}
	if opened := clickAt(t, press(t, m, "k", "j"), 10, y+1); opened.top().kind != queuesScreen {
		t.Error("a click long after another one opens the line")
	}
	m = clickAt(t, m, 10, y+1)
	if got := m.top(); got.kind != controllerScreen || got.controller != "deployment-controller" {
		t.Fatalf("the second click opens %+v", got)
	}
	m = press(t, m, "esc")
	feed := m.areas().feed
	m = clickAt(t, m, 10, feed.y+3)
	if m.top().focus != feedPane || m.top().feed.follow {
		t.Error("a click does not select a line of the feed")
	}
	m = clickAt(t, m, 10, feed.y+3)
	if got := m.top(); got.kind != objectScreen {
		t.Errorf("the second click opens screen %d", got.kind)
	}
	m = clickAt(t, pullOnce(t, m), 20, m.areas().upper.y+2)
	m = clickAt(t, m, 20, m.areas().upper.y+2)
	if got := m.top().object; got != web {
		t.Errorf("opened %v, want the owner", got)
	}
}

func TestClickOnHeadingSorts(t *testing.T) {
	m := shown(t, Options{Source: &fixed{snapshot: burst()}}, 250, 30)
	heading := m.areas().upper.y + 1
	for _, c := range m.placedColumns() {
		if c.compare == nil {
			continue
		}
		x := tableMargin + c.x + c.w - 1
		sorted := clickAt(t, m, x, heading)
		if sorted.sort != (sorting{column: c.id}) {
			t.Errorf("a click on %s sorts by %+v", c.head, sorted.sort)
		}
		if again := clickAt(t, sorted, x, heading); again.sort != (sorting{c.id, true}) {
			t.Errorf("a second click on %s sorts by %+v", c.head, again.sort)
		}
	}
}

func TestWheel(t *testing.T) {
	m := shown(t, Options{Source: &fixed{snapshot: idle(), records: writes(1, 100)}}, 120, 24)
	a := m.areas()
	down := tea.MouseWheelMsg{X: 5, Y: a.upper.y + 2, Button: tea.MouseWheelDown}
	m = send(t, m, down, down)
	if got := m.top().list.top; got != 2*wheelStep {
		t.Errorf("the table has scrolled to %d", got)
	}
	up := tea.MouseWheelMsg{X: 5, Y: a.feed.y + 2, Button: tea.MouseWheelUp}
	m = send(t, m, up)
	if m.top().feed.follow || m.top().focus != upperPane {
		t.Error("the feed still follows, or has taken the focus")
	}
	up.Button = tea.MouseWheelDown
	if m = send(t, m, up); !m.top().feed.follow {
		t.Error("the feed does not follow at its end")
	}
	m = press(t, m, "?")
	m = send(t, m, down)
	if got := m.page.top; got != wheelStep {
		t.Errorf("the help has scrolled to %d", got)
	}
}
