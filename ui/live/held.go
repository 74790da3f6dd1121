package live

import (
	"context"
	"strings"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui"
)

const (
	heldLimit    = 50 // held writes per request
	maxHeldShown = 8  // held writes on a controller page
	maxDiffShown = 14 // diff lines of the last step on a controller page
)

// heldWrites is the answer to a request for the held writes of a controller.
type heldWrites struct {
	controller string
	list       control.HeldWriteList
	err        error
}

// pausedSelection returns the selected controller if it is paused, otherwise "".
func (m model) pausedSelection() string {
	if name := m.selectedController(); m.interventionsIn(name) != nil && m.stateOf(name) == statePaused {
		return name
	}
	return ""
}

func fetchHeld(ctx context.Context, interventions control.Interventions, of string) *heldWrites {
	h := &heldWrites{controller: of}
	h.list, h.err = interventions.HeldWrites(ctx, of, heldLimit)
	return h
}

// addHeldDetails adds the held writes of a paused controller.
func (m model) addHeldDetails(s *detailBuilder, controller string) {
	if h := m.held; h != nil && h.controller == controller && m.stateOf(controller) == statePaused {
		switch {
		case h.err != nil:
			s.addEntry("held", 0, styledLine(words.OneLine(h.err.Error()), bad))
		case h.list.Total == 0:
			s.addEntry("held", 0, styledLine("no writes yet", faint))
		default:
			s.addEntry("held", 0, line{{ui.CountNoun(h.list.Total, "write"), strong}, {", oldest first; ", plain}, {"s", strong}, {" releases the next", faint}})
		}
		for i, w := range h.list.Items[:min(len(h.list.Items), maxHeldShown)] {
			verb, object, _ := strings.Cut(words.OneLine(w.String()), " ")
			mark := "  "
			if i == 0 {
				mark = m.theme.pickGlyph("→ ", "> ")
			}
			s.addEntry("", 1, line{{mark, highlight}, {alignLeft(verb, 7, ""), verbStyle(verb)}, {object, plain}, {"  for " + formatAge(m.snapshot.Time.Sub(w.Since)), faint}})
		}
		if more := h.list.Total - maxHeldShown; more > 0 {
			s.addEntry("", 1, styledLine("  and "+ui.GroupDigits(more)+" more", faint))
		}
		s.addLine(nil)
	}
}

// addStepDetails adds what the last step of a paused controller has changed.
func (m model) addStepDetails(s *detailBuilder, controller string) {
	if st := m.stepOf(controller); st != nil {
		s.addLine(nil)
		s.addEntry("last step", 0, styledLine(st.title, strong))
		lines := st.diff
		if len(lines) > diffHeaderLines {
			lines = lines[diffHeaderLines:]
		}
		for _, l := range lines[:min(len(lines), maxDiffShown)] {
			s.addEntry("", 1, l)
		}
		if more := len(lines) - maxDiffShown; more > 0 {
			s.addEntry("", 1, line{{ui.CountNoun(more, "more line") + "; ", faint}, {"d", strong}, {" shows all", faint}})
		}
	}
}
