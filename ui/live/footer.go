package live

import (
	"fmt"
	"strings"
)

// notice is what has to be said above the footer; nil if nothing.
func (m model) notice() line {
	silent := m.now.Sub(m.asked)
	unread := len(m.warnings) - m.read
	switch {
	case m.lost != "":
		return line{{" lost the control plane", bad}, {": " + m.lost + "; retrying", plain}}
	case m.pulling && !m.asked.IsZero() && silent >= silentAfter:
		return line{{" no answer", caution}, {" from the control plane for " + age(silent) + "; waiting", plain}}
	case m.said != "":
		return text(" "+m.said, caution)
	case unread > 0:
		l := line{{" warning: ", caution}, {clean(m.warnings[len(m.warnings)-1]), plain}}
		if unread > 1 {
			l = append(line{{fmt.Sprintf(" %d warnings, w shows all. The last: ", unread), caution}}, l[1:]...)
		}
		return l
	case len(m.hands()) > 0:
		return m.handsLine()
	}
	return nil
}

// handsLine tells what is done to controllers by hand.
func (m model) handsLine() line {
	var words []string
	for _, h := range m.hands() {
		s := h.String()
		if m.held != nil && m.held.of == h.Controller && m.held.list.Total > 0 {
			s += fmt.Sprintf(" (%s)", count(m.held.list.Total))
		}
		words = append(words, clean(s))
	}
	return line{{" by hand: ", caution}, {strings.Join(words, "; "), plain}}
}

// footer is the last line: the question, the filter that is being typed, or
// what the keys do.
func (m model) footer(w int) line {
	switch {
	case m.asking:
		question := " Stop the control plane? "
		if w < 70 {
			question = " Stop it? "
		}
		return line{{question, strong}, {" [s]", lit}, {"top  ", plain},
			{"[l]", lit}, {"eave it running  ", plain}, {"[esc]", lit}, {" cancel", plain}}
	case m.intent != nil:
		verb, what := "Stop", " Its workers, handlers and queues end."
		if m.intent.start {
			verb, what = "Start", " It is built and run anew."
		}
		if w < 100 {
			what = ""
		}
		return line{{" " + verb + " " + m.intent.controller + "?", strong}, {what + "  ", plain},
			{"[y]", lit}, {"es  ", plain}, {"[esc]", lit}, {" cancel", plain}}
	case m.typing:
		l := line{{" /", lit}, {m.filter() + m.theme.either("▏", "_"), plain}}
		return between(l, text("enter keeps it, esc drops it ", faint), w, m.theme.tail())
	}
	fields := []field{}
	for _, s := range sections() {
		for _, b := range s.bindings {
			if b.hint != "" && (b.on == nil || b.on(m)) {
				b.hint = m.hinted(b)
				fields = append(fields, hint(b, len(fields)))
			}
		}
	}
	return append(text(" ", plain), joined(fields, w-1, "  ")...)
}

// hinted is what a key would do now.
func (m model) hinted(b binding) string {
	switch state := m.stateOf(m.selected()); {
	case b.action == pauseResume && state == statePaused:
		return "resume"
	case b.action == stopStart && (state == stateOff || state == stateFailed):
		return "start"
	}
	return b.hint
}

// hint names a key and what it does. The way to the help and the way out stay.
func hint(b binding, n int) field {
	if b.action == quit || b.action == help {
		n = 0
	}
	return field{line{{keyName(b.keys[0]), strong}, {" " + b.hint, faint}}, n}
}

// keyName is what is printed on a key.
func keyName(key string) string {
	if after, ok := strings.CutPrefix(key, "ctrl+"); ok {
		return "Ctrl-" + strings.ToUpper(after)
	}
	return key
}
