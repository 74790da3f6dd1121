package live

import "strings"

// overlayScreen draws what covers the screen: a title, a window of lines, and
// how to leave.
func (m model) overlayScreen() []string {
	all, h := m.overlayLines(m.width), m.overlayHeight()
	l := m.overlayView.clamp(len(all), h)
	state := ""
	if len(all) > h {
		state = formatCount(min(l.top+h, len(all))) + " of " + formatCount(len(all))
	}
	title := "Help"
	switch m.overlay {
	case warningsOverlay:
		title = "Warnings"
	case stepOverlay:
		title = truncate(m.stepped.title, m.width-12, m.theme.ellipsis())
	}
	lines := []string{m.titleLine(title, state, true, m.width)}
	for i := l.top; i < len(all) && i < l.top+h; i++ {
		lines = append(lines, m.theme.renderLine(all[i], m.width, false))
	}
	lines = padLines(lines, m.height-1)
	keys := line{{" esc", strong}, {" back", faint}, {"  j k", strong}, {" scroll", faint}}
	if m.overlay == stepOverlay && canStep(m) {
		keys = append(keys, span{"  s", strong}, span{" step", faint})
	}
	return append(lines, m.theme.renderLine(keys, m.width, false))
}

// overlayHeight is how many rows are between the title and the footer.
func (m model) overlayHeight() int { return max(m.height-2, 1) }

func (m model) overlayLines(w int) []line {
	if m.overlay == stepOverlay {
		return m.stepped.diff
	}
	if m.overlay == warningsOverlay {
		var lines []line
		for _, warning := range m.warnings {
			for i, part := range wrapWords(sanitize(warning), w-4) {
				mark := "  "
				if i == 0 {
					mark = " !"
				}
				lines = append(lines, line{{mark + " ", caution}, {part, plain}})
			}
		}
		return lines
	}
	return m.helpLines(w)
}

// helpLines are the table of keys and what the marks mean, in two columns where
// there is room.
func (m model) helpLines(w int) []line {
	const half = 60
	keys, marks := m.keyLines(), m.markLines()
	if w < 2*half {
		return append(append(keys, nil), marks...)
	}
	var lines []line
	for i := range max(len(keys), len(marks)) {
		var l line
		if i < len(keys) {
			l = keys[i].truncate(half-2, m.theme.ellipsis())
		}
		if i < len(marks) {
			l = append(append(l, span{spaces(half - l.width()), plain}), marks[i]...)
		}
		lines = append(lines, l)
	}
	return lines
}

func (m model) keyLines() []line {
	var lines []line
	for i, s := range keySections() {
		if i > 0 {
			lines = append(lines, nil)
		}
		lines = append(lines, styledLine(" "+s.title, strong))
		for _, b := range s.bindings {
			names := make([]string, len(b.keys))
			for i, k := range b.keys {
				names[i] = keyName(k)
			}
			lines = append(lines, line{{"   " + alignLeft(strings.Join(names, " "), 14, "") + " ", highlight}, {b.description, plain}})
		}
	}
	return lines
}

// markLines explain what is not said in words elsewhere.
func (m model) markLines() []line {
	explain := func(mark, words string) line {
		return line{{"   " + alignLeft(mark, 14, "") + " ", highlight}, {words, plain}}
	}
	cut := m.theme.ellipsis()
	return []line{
		styledLine(" Marks", strong),
		explain(markBad, "an error: a call or a sync that failed"),
		explain(markConflict, "a conflict: the object had changed meanwhile"),
		explain("~KEY", "likely this key: inferred from calls or events"),
		explain("?", "not known"),
		explain("again", "a sync that put its key back for later"),
		explain(m.theme.zeroMark(), "nothing"),
		explain(cut, "cut, or not shown"),
		nil,
		styledLine(" Columns", strong),
		explain("DEPTH", "keys that wait, and a bar that grows with its"),
		explain("", "logarithm"),
		explain("IN FLIGHT", "keys that are worked on, and workers"),
		explain("ADDS/S DONE/S", "over the last 5 s"),
		explain("RETRIES", "keys put back after a failure"),
		explain("WAIT", "in the queue, over the last minute"),
		explain("WORK", "on a key, over the last minute"),
		explain("LAST MINUTE", "depth, each row to its own scale"),
		nil,
		styledLine(" Order", strong),
		explain("", "The busiest are on top, until a column is"),
		explain("", "chosen. Rows keep their places for 2 s."),
		nil,
		styledLine(" Mouse", strong),
		explain("", "The wheel scrolls; a click on a heading sorts,"),
		explain("", "on a line selects it, and again opens it."),
	}
}
