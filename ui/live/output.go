package live

import (
	"slices"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui"
)

// maxOutputLines bounds the lines of the output that the view keeps.
const maxOutputLines = 5000

// OutputLine is a line of a program that runs beside the control plane, or about it.
type OutputLine struct {
	Time time.Time
	Text string
	Own  bool // it is about the program, not from it
	Bad  bool // it is about a failure
}

// Output is the output of a program, such as an operator under development. Its methods
// must not block.
type Output interface {
	// Lines returns the lines after the one with a number, without those that are not kept
	// any more, and the number of the last line.
	Lines(after uint64) (lines []OutputLine, last uint64)
	// State says what the program does, and whether it has failed.
	State() (text string, bad bool)
}

// outputPane is the state of the lower pane of the first screen when it shows the output.
type outputPane struct {
	source Output // nil = none
	hidden bool   // Activity is shown instead
	lines  []OutputLine
	last   uint64 // number of the last of lines
	bottom uint64 // number of the last visible line; 0 = follow
}

// hasOutput reports whether the lower pane can show the output. That of the past is not kept.
func hasOutput(m model) bool { return m.output.source != nil && onQueues(m) && m.past == nil }

func (m model) showsOutput() bool { return hasOutput(m) && !m.output.hidden }

// readOutput reads new lines.
func (m model) readOutput() model {
	if m.output.source == nil || m.frozen {
		return m
	}
	lines, last := m.output.source.Lines(m.output.last)
	if len(lines) == 0 {
		return m
	}
	all := slices.Concat(m.output.lines, lines)
	m.output.lines, m.output.last = all[max(0, len(all)-maxOutputLines):], last
	return m
}

// toggleOutput shows the output or Activity in the lower pane.
func (m model) toggleOutput() model {
	if !hasOutput(m) {
		m.message = "no output to show here: \"ctrlplane dev\" shows that of an operator, in its list of queues"
		return m
	}
	m.output.hidden = !m.output.hidden
	return m
}

// scroll moves the last visible line. Moving past the end starts following.
func (o outputPane) scroll(by int) outputPane {
	bottom := o.bottom
	if bottom == 0 {
		bottom = o.last
	}
	first := o.last - uint64(len(o.lines)) + 1
	switch at := int64(bottom) + int64(by); {
	case len(o.lines) == 0 || at >= int64(o.last):
		o.bottom = 0
	default:
		o.bottom = uint64(max(at, int64(first)))
	}
	return o
}

func (o outputPane) toggleFollow() outputPane {
	if o.bottom != 0 || o.last == 0 {
		o.bottom = 0
	} else {
		o.bottom = o.last
	}
	return o
}

// outputLines draws the output in w columns and h rows.
func (m model) outputLines(w, h int) []string {
	o := m.output
	state, bad := o.source.State()
	if below := o.last - o.bottom; o.bottom != 0 && below > 0 {
		state = ui.GroupDigits(below) + " newer below"
	}
	filter := m.currentScreen().feed.filter
	if filter != "" {
		state = "/" + filter + ", " + state
	}
	title := m.titleLine("Operator", words.OneLine(state), inFeed(m), w)
	if bad && o.bottom == 0 {
		title = m.titleLine("Operator "+m.theme.pickGlyph("✗", markBad), words.OneLine(state), inFeed(m), w)
	}
	if len(o.lines) == 0 {
		return []string{title, m.theme.renderLine(styledLine("  no output yet", faint), w, false)}
	}
	end := len(o.lines)
	if o.bottom != 0 {
		end -= int(o.last - o.bottom)
	}
	var rows []string // the last first
	for i := max(end, 1) - 1; i >= 0 && len(rows) < h-1; i-- {
		if !containsWords(ansi.Strip(o.lines[i].Text), filter) {
			continue
		}
		wrapped := m.outputRows(o.lines[i], w-1)
		if room := h - 1; room > 0 && len(wrapped) > room { // the beginning says more than the end
			wrapped = wrapped[:room]
			wrapped[room-1] = append(wrapped[room-1].truncate(w-2, ""), span{m.theme.ellipsis(), faint})
		}
		slices.Reverse(wrapped)
		for _, row := range wrapped {
			rows = append(rows, m.theme.renderLine(row, w, false))
		}
	}
	if len(rows) == 0 {
		return []string{title, m.theme.renderLine(styledLine("  nothing matches the filter", faint), w, false)}
	}
	rows = rows[:min(len(rows), h-1)]
	slices.Reverse(rows)
	return append([]string{title}, rows...)
}

// outputRows breaks a line into rows of w columns.
func (m model) outputRows(l OutputLine, w int) (rows []line) {
	st, stamp := plain, l.Time.In(m.zone).Format("15:04:05")
	switch {
	case l.Bad:
		st = bad
	case l.Own:
		st = accent
	}
	text := words.Lines(ansi.Strip(l.Text))[0]
	room := max(w-len(stamp)-2, 10)
	for first := true; first || text != ""; first = false {
		head := cutColumns(text, room)
		text = text[len(head):]
		if !first {
			stamp = spaces(len(stamp))
		}
		rows = append(rows, line{{" " + stamp + " ", faint}, {head, st}})
	}
	return rows
}

// cutColumns returns as much of the beginning of s as fits into w columns, and at least
// one character. It reads no more of s than it returns.
func cutColumns(s string, w int) string {
	end, column := 0, 0
	for end < len(s) {
		character, width := ansi.FirstGraphemeCluster(s[end:], ansi.GraphemeWidth)
		if column += width; end > 0 && column > w {
			break
		}
		end += len(character)
	}
	return s[:end]
}
