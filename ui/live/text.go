package live

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// span is text in one style, without control characters.
type span struct {
	text  string
	style style
}

// line is a row of the screen or a part of it.
type line []span

func styledLine(s string, st style) line { return line{{s, st}} }

func (l line) width() int {
	n := 0
	for _, s := range l {
		n += textWidth(s.text)
	}
	return n
}

// plainText returns the line without styles.
func (l line) plainText() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

// truncate cuts the line to at most w columns.
func (l line) truncate(w int, tail string) line {
	if l.width() <= w {
		return l
	}
	var out line
	for _, s := range l {
		n := textWidth(s.text)
		if n > w || n == w && len(out) < len(l)-1 {
			return append(out, span{truncate(s.text+" ", w, tail), s.style})
		}
		out = append(out, s)
		w -= n
	}
	return out
}

// align makes the line exactly w columns wide, in the style of its end.
func (l line) align(w int, left bool, tail string) line {
	l = slices.Clone(l.truncate(w, tail))
	gap := spaces(w - l.width())
	switch {
	case len(l) == 0:
		return styledLine(gap, plain)
	case left:
		l[len(l)-1].text += gap
	default:
		l[0].text = gap + l[0].text
	}
	return l
}

// wrap breaks the line between words into lines of w columns, at most so many: the last one
// may be longer.
func (l line) wrap(w, most int) (lines []line) {
	for len(lines) < most-1 && l.width() > w {
		at, column := 0, 0
		for i, r := range []rune(l.plainText()) {
			if column > w {
				break
			}
			if r == ' ' {
				at = i
			}
			column += textWidth(string(r))
		}
		if at == 0 {
			break
		}
		head, rest := l.splitAt(at)
		lines, l = append(lines, head), rest
	}
	return append(lines, l)
}

// splitAt splits the line before a character.
func (l line) splitAt(at int) (head, rest line) {
	for _, s := range l {
		text := []rune(s.text)
		n := min(at, len(text))
		at -= n
		if n > 0 {
			head = append(head, span{string(text[:n]), s.style})
		}
		if n < len(text) {
			rest = append(rest, span{string(text[n:]), s.style})
		}
	}
	return head, rest
}

// joinState joins the parts of a title's status text.
func joinState(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// joinJustified places left and right at the two ends of w columns. Where both do not
// fit, it cuts left first.
func joinJustified(left, right line, w int, tail string) line {
	room := w - right.width()
	if room < 0 {
		return right.truncate(w, tail)
	}
	left = left.truncate(max(0, room-1), tail)
	gap := styledLine(spaces(room-left.width()), plain)
	return append(append(append(line(nil), left...), gap...), right...)
}

// textWidth returns the width of s in columns.
func textWidth(s string) int {
	if isASCII(s) {
		return len(s)
	}
	return lipgloss.Width(s)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// truncate cuts s to at most w columns and marks the cut with tail, which is at most one
// column wide.
func truncate(s string, w int, tail string) string {
	if textWidth(s) <= w {
		return s
	}
	if w <= 0 {
		return ""
	}
	return ansi.Truncate(s, w-1, "") + tail
}

// alignLeft and alignRight make s exactly w columns wide.
func alignLeft(s string, w int, tail string) string {
	s = truncate(s, w, tail)
	return s + spaces(w-textWidth(s))
}

func alignRight(s string, w int, tail string) string {
	s = truncate(s, w, tail)
	return spaces(w-textWidth(s)) + s
}

func spaces(n int) string { return strings.Repeat(" ", max(0, n)) }

// wrapWords wraps s between words into lines of at most w columns.
func wrapWords(s string, w int) []string { return words.WrapFunc(s, w, textWidth) }
