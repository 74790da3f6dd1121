package live

import (
	"context"
	"strings"

	"github.com/ctrlplane/ctrlplane/control"
)

const (
	heldAsked = 50 // held writes that are asked for
	heldShown = 8  // that a controller's page tells
	diffShown = 14 // lines of the last step's difference there
)

// held is what a paused controller was found to hold.
type held struct {
	of   string
	list control.HeldList
	err  error
}

// holds is the controller whose held writes are worth asking for; empty if none.
func (m model) holds() string {
	if name := m.selected(); m.gates != nil && m.stateOf(name) == statePaused {
		return name
	}
	return ""
}

func askHeld(ctx context.Context, gates control.Gates, of string) *held {
	h := &held{of: of}
	h.list, h.err = gates.Held(ctx, of, heldAsked)
	return h
}

// heldDetails tells what a paused controller is about to write, and what the last
// step has changed.
func (m model) heldDetails(s *sheet, controller string) {
	if h := m.held; h != nil && h.of == controller && m.stateOf(controller) == statePaused {
		switch {
		case h.err != nil:
			s.entry("held", 0, text(clean(h.err.Error()), bad))
		case h.list.Total == 0:
			s.entry("held", 0, text("nothing yet", faint))
		default:
			s.entry("held", 0, line{{plural(int64(h.list.Total), "write"), strong}, {", the oldest first; ", plain}, {"s", strong}, {" lets one through", faint}})
		}
		for i, w := range h.list.Items[:min(len(h.list.Items), heldShown)] {
			verb, object, _ := strings.Cut(clean(write(w)), " ")
			mark := "  "
			if i == 0 {
				mark = m.theme.either("→ ", "> ")
			}
			s.entry("", 1, line{{mark, lit}, {left(verb, 7, ""), verbStyle(verb)}, {object, plain}, {"  for " + age(m.snapshot.Time.Sub(w.Since)), faint}})
		}
		if more := h.list.Total - heldShown; more > 0 {
			s.entry("", 1, text("  and "+count(more)+" more", faint))
		}
		s.add(nil)
	}
	if st := m.stepped; st != nil && st.controller == controller {
		s.entry("last step", 0, text(st.title, strong))
		lines := st.diff
		if len(lines) > diffHead {
			lines = lines[diffHead:]
		}
		for _, l := range lines[:min(len(lines), diffShown)] {
			s.entry("", 1, l)
		}
		if more := len(lines) - diffShown; more > 0 {
			s.entry("", 1, line{{count(more) + " lines more, ", faint}, {"d", strong}, {" shows all", faint}})
		}
		s.add(nil)
	}
}
