package live

import (
	"slices"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A controller that is stopped has no queue: the cursor stays on it, so that the next key acts on the same controller.
func TestCursorStaysOnAStoppedController(t *testing.T) {
	for name, keys := range map[string][]string{"by name": {">"}, "by activity": nil, "without idle ones": {"i"}} {
		h := sourceWithHeldWrites()
		for i := range h.snapshot.Queues {
			if q := &h.snapshot.Queues[i]; q.Controller == "job-controller" {
				q.AddRate, q.DoneRate = 1, 1 // it is shown, also where idle ones are hidden
			}
		}
		m := pressKeys(t, newPlainModel(t, Options{Source: h}, 100, 30), keys...)
		for range m.rows {
			if m.targetController() != "job-controller" {
				m = pressKeys(t, m, "j")
			}
		}
		m = pressAndRun(t, m, "x", "y")
		h.snapshot.Queues = slices.DeleteFunc(slices.Clone(h.snapshot.Queues), func(q observe.Queue) bool { return q.Controller == "job-controller" })
		h.snapshot.Controllers = slices.Clone(h.snapshot.Controllers)
		for i := range h.snapshot.Controllers {
			if c := &h.snapshot.Controllers[i]; c.Name == "job-controller" {
				c.State, c.Reason = stateOff, observe.ReasonStopped
			}
		}
		if m = pullOnce(t, m); m.targetController() != "job-controller" {
			t.Errorf("%s: the cursor is on %s", name, m.targetController())
		}
		m = pressKeys(t, m, "x")
		if m.confirming == nil || m.confirming.controller != "job-controller" || m.confirming.verb != "start" {
			t.Errorf("%s: asks %+v", name, m.confirming)
		}
	}
}

// setState sets the state of controllers in the next snapshot.
func setState(h *intervenableSource, state string, names ...string) {
	h.snapshot.Controllers = slices.Clone(h.snapshot.Controllers)
	for i := range h.snapshot.Controllers {
		if c := &h.snapshot.Controllers[i]; slices.Contains(names, c.Name) {
			c.State = state
		}
	}
}

// A controller that a key has acted on stays in the list if its new state does not match the filter: the next key acts on the same one.
func TestFilterKeepsThePickedController(t *testing.T) {
	const name = "replicaset-controller"
	for _, keys := range [][]string{nil, {"i"}} {
		h := sourceWithHeldWrites()
		setState(h, statePaused, name, "job-controller")
		m := pressKeys(t, newPlainModel(t, Options{Source: h}, 100, 30), append(keys, strings.Split("/paused", "")...)...)
		m = pressKeys(t, m, "enter", "g")
		for range m.rows {
			if m.targetController() != name {
				m = pressKeys(t, m, "j")
			}
		}
		m = pressAndRun(t, m, "p")
		setState(h, stateRunning, name)
		if m = pullOnce(t, m); m.targetController() != name {
			t.Errorf("%q: the cursor is on %q of\n%s", keys, m.targetController(), m.View().Content)
		}
		m = pressAndRun(t, m, "p")
		if want := []string{"resume " + name, "pause " + name}; !slices.Equal(h.calls, want) {
			t.Errorf("%q: calls %q", keys, h.calls)
		}
		if m = pressKeys(t, m, "/", "backspace", "x"); slices.ContainsFunc(m.rows, func(r row) bool { return r.controller == name }) {
			t.Errorf("another filter keeps it:\n%s", m.View().Content)
		}
	}
}

// When the controller under the cursor is gone, keys act on none until the user selects one.
func TestKeysOfAControllerThatIsGone(t *testing.T) {
	h := sourceWithHeldWrites()
	all := h.snapshot.Controllers
	h.snapshot.Controllers = append(slices.Clone(all), observe.Controller{Name: "shop/site", State: stateOff, Gone: observe.GoneEnded})
	m := pressAndRun(t, modelOnQueue(t, h, "shop/site"), "x", "y")
	h.snapshot.Controllers = all
	m = pullOnce(t, pressKeys(t, m, "esc"))
	for _, key := range []string{"p", "x", "p"} {
		m = pressAndRun(t, m, key)
		if !strings.HasPrefix(m.message, "no controller selected") || m.confirming != nil || len(h.calls) != 1 {
			t.Errorf("%s: message %q, calls %q", key, m.message, h.calls)
		}
	}
	if m = pressKeys(t, m, "g"); m.targetController() == "" {
		t.Error("g selects no controller")
	}
}

// The same for clients.
func TestFilterKeepsThePickedClient(t *testing.T) {
	s := clientsSnapshot()
	s.Clients = []observe.Client{{Name: "a", State: "paused"}, {Name: "b", State: "paused"}, {Name: "c", State: "running"}}
	src := clientSource{&intervenableSource{fixedSource: &fixedSource{snapshot: s}}, &intervenableSource{}}
	m := pressKeys(t, newPlainModel(t, Options{Source: src}, 100, 30), append([]string{"c"}, strings.Split("/paused", "")...)...)
	m = pressAndRun(t, pressKeys(t, m, "enter"), "p")
	src.snapshot.Clients = slices.Clone(s.Clients)
	src.snapshot.Clients[0].State = "running"
	if m = pullOnce(t, m); m.targetController() != "a" {
		t.Errorf("the cursor is on %q", m.targetController())
	}
	src.snapshot.Clients = src.snapshot.Clients[1:]
	if m = pressAndRun(t, pullOnce(t, m), "p"); m.targetController() != "" || len(src.clients.calls) != 1 {
		t.Errorf("the cursor is on %q, calls %q", m.targetController(), src.clients.calls)
	}
}
