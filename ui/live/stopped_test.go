package live

import (
	"slices"
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
