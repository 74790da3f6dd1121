package live

import (
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui"
)

// overlayScreen draws the overlay: a title, the visible lines, and the keys.
func (m model) overlayScreen() []string {
	all, h := m.overlayLines(m.width), m.overlayHeight()
	l := m.overlayView.clampToList(len(all), h)
	state := ""
	if len(all) > h {
		state = ui.GroupDigits(min(l.top+h, len(all))) + " of " + ui.GroupDigits(len(all))
	}
	title := "Help"
	switch m.overlay {
	case warningsOverlay:
		title = "Warnings"
	case stepOverlay:
		title = truncate(m.stepped.title, m.width-12, m.theme.ellipsis())
	case textOverlay:
		title = truncate(words.OneLine(m.text.title), m.width-12, m.theme.ellipsis())
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
	if m.overlay == textOverlay {
		keys = m.textKeys(keys)
	}
	if m.message != "" {
		keys = styledLine(" "+m.message, caution)
	}
	return append(lines, m.theme.renderLine(keys, m.width, false))
}

// textKeys are the keys for what a text is about.
func (m model) textKeys(keys line) line {
	add := func(key, what string) { keys = append(keys, span{"  " + key, strong}, span{" " + what, faint}) }
	switch {
	case m.text.object != nil:
		add("enter", "open "+truncate(objectName(*m.text.object), 30, m.theme.ellipsis()))
		add("t", "trace")
		add("w", "why")
		add("e", "YAML")
	case m.text.owner != "":
		add("enter", "open "+ui.ShortName(m.text.owner))
	}
	add("y", "copy")
	return keys
}

// overlayHeight returns the number of rows between title and footer.
func (m model) overlayHeight() int { return max(m.height-2, 1) }

func (m model) overlayLines(w int) []line {
	switch m.overlay {
	case stepOverlay:
		return m.stepped.diff
	case textOverlay:
		return m.text.lines(m, w)
	}
	if m.overlay == warningsOverlay {
		var lines []line
		if len(m.warnings) == 0 {
			lines = append(lines, styledLine("  no warnings since the start", faint))
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
		explain(markConflict, "a conflict: the object had been modified"),
		explain("~KEY", "likely key, inferred from calls or events"),
		explain("?", "unknown"),
		explain("retry", "the sync will be retried"),
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
		explain("RETRIES", "keys queued again after an error;"),
		explain("", "+3: without REQUEUES, those as planned"),
		explain("REQUEUES", "keys queued again as planned"),
		explain("WAIT", "time in the queue, last minute"),
		explain("WORK", "time to process a key, last minute"),
		explain("LAST MINUTE", "depth over time, each row has its scale"),
		nil,
		styledLine(" Order", strong),
		explain("", "Busiest first, until you sort by a column."),
		explain("", "Rows keep their places for 2 s."),
		explain("", "The cursor stays on the first row; once you"),
		explain("", "move it, it follows its row, until g."),
		nil,
		styledLine(" Mouse", strong),
		explain("", "Scroll with the wheel. Click a heading to"),
		explain("", "sort, a line to select it, again to open it."),
	}
}
