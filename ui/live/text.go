package live

import (
	"strings"
	"unicode"

	"charm.land/lipgloss/v2"
)

// span is text in one style. Its text holds neither controls nor escapes.
type span struct {
	text  string
	style style
}

// line is one row of the screen, or a part of one.
type line []span

func text(s string, st style) line { return line{{s, st}} }

func (l line) width() int {
	n := 0
	for _, s := range l {
		n += width(s.text)
	}
	return n
}

// plain is the line without its styles.
func (l line) plain() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

// cut returns the line in at most w columns.
func (l line) cut(w int, tail string) line {
	if l.width() <= w {
		return l
	}
	var out line
	for _, s := range l {
		n := width(s.text)
		if n > w || n == w && len(out) < len(l)-1 {
			return append(out, span{shorten(s.text+" ", w, tail), s.style})
		}
		out = append(out, s)
		w -= n
	}
	return out
}

// between puts left and right at the two ends of w columns; right goes first
// where there is no room for both.
func between(left, right line, w int, tail string) line {
	room := w - right.width()
	if room < 0 {
		return right.cut(w, tail)
	}
	left = left.cut(max(0, room-1), tail)
	gap := text(spaces(room-left.width()), plain)
	return append(append(append(line(nil), left...), gap...), right...)
}

// width is how many columns s takes.
func width(s string) int {
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

// shorten cuts s to at most w columns and marks that with tail, which is one.
func shorten(s string, w int, tail string) string {
	if width(s) <= w {
		return s
	}
	if w <= 0 {
		return ""
	}
	if isASCII(s) {
		return s[:w-1] + tail
	}
	if w == 1 { // 0 is no limit to lipgloss
		return tail
	}
	return lipgloss.NewStyle().Inline(true).MaxWidth(w-1).Render(s) + tail
}

// left and right make s exactly w columns wide.
func left(s string, w int, tail string) string {
	s = shorten(s, w, tail)
	return s + spaces(w-width(s))
}

func right(s string, w int, tail string) string {
	s = shorten(s, w, tail)
	return spaces(w-width(s)) + s
}

func spaces(n int) string { return strings.Repeat(" ", max(0, n)) }

// clean makes text that came from elsewhere one harmless line: no controls, no
// marks that turn the direction of writing.
func clean(s string) string {
	if harmless(s) {
		return s
	}
	return visible(strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " "))
}

// cleanLines is clean for text of several lines, whose indentation counts.
func cleanLines(s string) []string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\t", "    ")
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = visible(l)
	}
	return lines
}

func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, s)
}

func harmless(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return !strings.Contains(s, "  ") && strings.TrimSpace(s) == s
}

// wrap breaks s between words into lines of at most w columns.
func wrap(s string, w int) []string {
	var lines []string
	current := ""
	for _, word := range strings.Fields(s) {
		switch {
		case current == "":
			current = word
		case width(current)+1+width(word) <= w:
			current += " " + word
		default:
			lines, current = append(lines, current), word
		}
	}
	if current != "" {
		lines = append(lines, current)
	}
	return lines
}
