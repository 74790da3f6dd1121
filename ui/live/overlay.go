package live

import (
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui"
)

// openOverlay shows an overlay from its beginning.
func (m model) openOverlay(o overlay) model {
	m.overlay, m.overlayView, m.overlayFind, m.covered = o, viewport{}, "", nil
	return m
}

// shownOverlay is an overlay that the help covers.
type shownOverlay struct {
	overlay overlay
	view    viewport
	find    string
}

// toggleOverlay closes the overlay of a key, or opens the help over another one.
func (m model) toggleOverlay(a action) model {
	switch own := map[action]overlay{help: helpOverlay, showWarnings: warningsOverlay, showStep: stepOverlay}[a]; {
	case m.overlay == own:
		return m.closeOverlay()
	case a == help:
		covered := shownOverlay{m.overlay, m.overlayView, m.overlayFind}
		m = m.openOverlay(helpOverlay)
		m.covered = &covered
	}
	return m
}

// closeOverlay closes the overlay. What the help covers is shown again.
func (m model) closeOverlay() model {
	c := m.covered
	m = m.openOverlay(noOverlay)
	if c != nil {
		m.overlay, m.overlayView, m.overlayFind = c.overlay, c.view, c.find
	}
	return m
}

// overlayScreen draws the overlay: a title, the visible lines, and the keys.
func (m model) overlayScreen() []string {
	all, h := m.overlayLines(m.width), m.overlayHeight()
	l := m.overlayView.clampToList(len(all), h)
	state := m.visibleLines(l, len(all), h)
	if m.overlayFind != "" {
		state = joinState(findState(all, m.overlayFind, l.cursor), state)
	}
	title, room := "Help", m.width-textWidth(state)-6
	switch m.overlay {
	case warningsOverlay:
		title = "Warnings"
	case stepOverlay:
		title = truncate(ui.ShortName(m.shownStep.controller)+": "+m.shownStep.title, room, m.theme.ellipsis())
	case textOverlay:
		title = truncate(words.OneLine(m.text.title), room, m.theme.ellipsis())
	}
	lines := []string{m.titleLine(title, state, true, m.width)}
	for i := l.top; i < len(all) && i < l.top+h; i++ {
		lines = append(lines, m.overlayLine(all[i], i == l.cursor))
	}
	lines = padLines(lines, m.height-1)
	if m.asksUser() {
		return append(lines, m.theme.renderLine(m.footerLine(m.width), m.width, false))
	}
	keys := append(styledLine(" ", plain), joinFields(m.overlayKeys(), m.width-1)...)
	if m.message != "" {
		keys = styledLine(" "+m.message, caution)
	}
	return append(lines, m.theme.renderLine(keys, m.width, false))
}

// overlayLine draws a line of an overlay: what is searched stands out, and the line of the
// current match has the mark of the cursor.
func (m model) overlayLine(l line, atCursor bool) string {
	if len(l.matchesOf(m.overlayFind)) == 0 {
		return m.theme.renderLine(l, m.width, false)
	}
	l = l.withMatches(m.overlayFind)
	if first := l[0]; atCursor && strings.HasPrefix(first.text, " ") {
		l = append(append(m.cursorMark(true), span{first.text[1:], first.style}), l[1:]...)
	}
	return m.theme.renderLine(l, m.width, atCursor)
}

// overlayKeys are the keys for an overlay, and for what a text is about.
func (m model) overlayKeys() (keys []headerField) {
	add := func(key, what string, dropOrder int) {
		keys = append(keys, headerField{line{{key, strong}, {" " + what, faint}}, dropOrder})
	}
	if m.overlayFind != "" {
		add("esc", "end the search", 0)
		add("n N", "next, previous", 0)
	} else {
		add("esc", "back", 0)
		add("j k", "scroll", 4)
		add("/", "search", 1)
	}
	if m.overlay == stepOverlay && canStep(m) {
		add("s", "step", 0)
	}
	if m.overlay != helpOverlay {
		add("?", "help", 2)
	}
	if m.overlay != textOverlay {
		return keys
	}
	switch {
	case m.text.object != nil:
		add("enter", "open "+truncate(objectName(*m.text.object), 30, m.theme.ellipsis()), 3)
	case m.text.owner != "":
		add("enter", "open "+ui.ShortName(m.text.owner), 3)
	}
	if hasStory(m) {
		add("t", "trace", 1)
		add("w", strings.TrimSpace("why "+string(m.text.nextWhy)), 1)
		add("e", "YAML", 1)
	}
	add("y", "copy", 2)
	return keys
}

// overlayHeight returns the number of rows between title and footer.
func (m model) overlayHeight() int { return max(m.height-2, 1) }

func (m model) overlayLines(w int) []line {
	switch m.overlay {
	case stepOverlay:
		lines := make([]line, len(m.shownStep.diff))
		for i, l := range m.shownStep.diff {
			lines[i] = append(styledLine(" ", plain), l...)
		}
		return lines
	case textOverlay:
		return m.text.lines(m, w)
	}
	if m.overlay == warningsOverlay {
		var lines []line
		if len(m.warnings) == 0 {
			text := "none of ctrlplane itself since the start; Activity has those of controllers and Kubernetes Events"
			if m.warn == nil {
				text = "Activity has the warnings of ctrlplane itself, of controllers, and Kubernetes Events; only the terminal of its process has those of its start"
			}
			for _, part := range wrapWords(text, w-4) {
				lines = append(lines, styledLine("  "+part, faint))
			}
		}
		for _, warning := range m.warnings {
			for i, part := range wrapWords(words.OneLine(warning), w-4) {
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

// helpLines returns the key bindings and the legend, in two columns if they fit.
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
	for i, s := range m.keySections() {
		if i > 0 {
			lines = append(lines, nil)
		}
		lines = append(lines, styledLine(" "+s.title, strong))
		for _, b := range s.bindings {
			if b.description == "" || b.action == toggleOutput && m.output.source == nil { // of "ctrlplane dev" only
				continue
			}
			names := make([]string, len(b.keys))
			for i, k := range b.keys {
				names[i] = keyName(k)
			}
			lines = append(lines, line{{"   " + alignLeft(strings.Join(names, " "), 14, "") + " ", highlight}, {b.description, plain}})
		}
	}
	return lines
}

// markLines returns the legend of marks and columns.
func (m model) markLines() []line {
	explain := func(mark, words string) line {
		return line{{"   " + alignLeft(mark, 14, "") + " ", highlight}, {words, plain}}
	}
	cut := m.theme.ellipsis()
	return []line{
		styledLine(" Marks", strong),
		explain(markBad, "an error: a call or sync failed"),
		explain(markConflict, "a conflict: the object had been modified or deleted"),
		explain("~KEY", "likely key, inferred from calls or events"),
		explain("?", "unknown"),
		explain(m.theme.pickGlyph("‖ KEY", "waits KEY"), "the key waits: the speed is below 1×"),
		explain("retry", "the sync has failed and will be retried"),
		explain("none", "the call got no response"),
		explain(m.theme.zeroMark(), "zero, or not measured"),
		explain(cut, "truncated, or not shown"),
		nil,
		styledLine(" Columns", strong),
		explain("DEPTH", "keys waiting, and a linear bar"),
		explain("IN FLIGHT", "keys being processed / workers"),
		explain("ADDS/S DONE/S", "keys added and finished, last 5 s"),
		explain(m.theme.pickGlyph("██░░", "##--"), "depth now, and the peak of the last second"),
		explain("NOW", "what it works on, or what is wrong"),
		explain("  "+m.atMost(6)+" delayed", "keys due later, at most 6: retries, or"),
		explain("", "checks of a deadline, as of a rollout"),
		explain("RETRIES", "keys queued again after an error"),
		explain("REQUEUES", "keys queued again as planned"),
		explain("WAIT", "time in the queue, last minute"),
		explain("WORK", "time to process a key, last minute"),
		explain("LAST MINUTE", "depth over time, each row has its scale"),
		nil,
		styledLine(" Order", strong),
		explain("", "Failing, then busiest, until you sort by a"),
		explain("", "column; < on the first returns to it."),
		explain("", "Rows keep their places for 2 s."),
		explain("", "The cursor stays on the first row; once you"),
		explain("", "move it, it follows its row, until g."),
		nil,
		styledLine(" Mouse", strong),
		explain("", "Scroll with the wheel. Click a heading to"),
		explain("", "sort, a line to select it, again to open it."),
	}
}
