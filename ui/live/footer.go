package live

import (
	"fmt"
	"strings"
)

// noticeLine is what has to be said above the footer; nil if nothing.
func (m model) noticeLine() line {
	silent := m.now.Sub(m.pullStarted)
	unread := len(m.warnings) - m.warningsRead
	switch {
	case m.pullError != "":
		return line{{" lost the control plane", bad}, {": " + m.pullError + "; retrying", plain}}
	case m.pulling && !m.pullStarted.IsZero() && silent >= silenceThreshold:
		return line{{" no answer", caution}, {" from the control plane for " + formatAge(silent) + "; waiting", plain}}
	case m.message != "":
		return styledLine(" "+m.message, caution)
	case unread > 0:
		l := line{{" warning: ", caution}, {sanitize(m.warnings[len(m.warnings)-1]), plain}}
		if unread > 1 {
			l = append(line{{fmt.Sprintf(" %d warnings, w shows all. The last: ", unread), caution}}, l[1:]...)
		}
		return l
	case len(m.activeInterventions()) > 0:
		return m.interventionsLine()
	}
	return nil
}

// interventionsLine tells what is done to controllers by hand.
func (m model) interventionsLine() line {
	var words []string
	for _, h := range m.activeInterventions() {
		s := h.String()
		if m.held != nil && m.held.controller == h.Controller && m.held.list.Total > 0 {
			s += fmt.Sprintf(" (%s)", formatCount(m.held.list.Total))
		}
		words = append(words, sanitize(s))
	}
	return line{{" by hand: ", caution}, {strings.Join(words, "; "), plain}}
}

// footerLine is the last line: the question, the filter that is being typed, or
// what the keys do.
func (m model) footerLine(w int) line {
	switch {
	case m.askingQuit:
		question := " Stop the control plane? "
		if w < 70 {
			question = " Stop it? "
		}
		return line{{question, strong}, {" [s]", highlight}, {"top  ", plain},
			{"[l]", highlight}, {"eave it running  ", plain}, {"[esc]", highlight}, {" cancel", plain}}
	case m.confirming != nil:
		verb, what := "Stop", " Its workers, handlers and queues end."
		if m.confirming.start {
			verb, what = "Start", " It is built and run anew."
		}
		if w < 100 {
			what = ""
		}
		return line{{" " + verb + " " + m.confirming.controller + "?", strong}, {what + "  ", plain},
			{"[y]", highlight}, {"es  ", plain}, {"[esc]", highlight}, {" cancel", plain}}
	case m.typingFilter:
		l := line{{" /", highlight}, {m.activeFilter() + m.theme.pickGlyph("▏", "_"), plain}}
		return justify(l, styledLine("enter keeps it, esc drops it ", faint), w, m.theme.ellipsis())
	}
	fields := []headerField{}
	for _, s := range keySections() {
		for _, b := range s.bindings {
			if b.hint != "" && (b.enabled == nil || b.enabled(m)) {
				b.hint = m.hintFor(b)
				fields = append(fields, hintField(b, len(fields)))
			}
		}
	}
	return append(styledLine(" ", plain), joinFields(fields, w-1, "  ")...)
}

// hintFor is what a key would do now.
func (m model) hintFor(b binding) string {
	switch state := m.stateOf(m.selectedController()); {
	case b.action == pauseResume && state == statePaused:
		return "resume"
	case b.action == stopStart && (state == stateOff || state == stateFailed):
		return "start"
	}
	return b.hint
}

// hintField names a key and what it does. The way to the help and the way out stay.
func hintField(b binding, n int) headerField {
	if b.action == quit || b.action == help {
		n = 0
	}
	return headerField{line{{keyName(b.keys[0]), strong}, {" " + b.hint, faint}}, n}
}

// keyName is what is printed on a key.
func keyName(key string) string {
	if after, ok := strings.CutPrefix(key, "ctrl+"); ok {
		return "Ctrl-" + strings.ToUpper(after)
	}
	return key
}
