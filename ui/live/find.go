package live

import (
	"fmt"
	"unicode"

	"github.com/ctrlplane/ctrlplane/ui"
)

// A text, unlike a list, is not filtered but searched: its lines say little without those
// around them. The cursor is on the current match.

// showsText reports whether / searches: in an overlay, and in the upper pane of a page.
func (m model) showsText() bool {
	s := m.currentScreen()
	return m.overlay != noOverlay || s.kind.isPage() && s.focus == upperPane
}

// shownText returns the text that is searched, and how many of its lines are visible.
func (m model) shownText() (lines []line, h int) {
	if m.overlay != noOverlay {
		return m.overlayLines(m.width), m.overlayHeight()
	}
	a := m.screenAreas()
	for _, d := range m.pageDetails(a.upper.w - detailMargin) {
		lines = append(lines, d.line)
	}
	return lines, max(a.upper.h-1, 1)
}

// textViewport returns the viewport of the text that is searched.
func (m model) textViewport() viewport {
	if m.overlay != noOverlay {
		return m.overlayView
	}
	return m.currentScreen().view
}

func (m model) withTextViewport(v viewport) model {
	if m.overlay != noOverlay {
		m.overlayView = v
		return m
	}
	s := m.currentScreen()
	s.view = v
	return m.withCurrentScreen(s)
}

// find goes to the first line that matches, from a line on, forward or backward and round
// the ends. It stays if none does.
func (m model) find(from, by int) model {
	lines, h := m.shownText()
	wanted := m.activeFilter()
	for i := range lines {
		at := ((from+i*by)%len(lines) + len(lines)) % len(lines)
		if len(lines[at].matchesOf(wanted)) > 0 {
			return m.withTextViewport(m.textViewport().reveal(at, len(lines), h))
		}
	}
	return m
}

// findAgain goes to the next match, or to the previous one.
func (m model) findAgain(a action) model {
	switch {
	case !m.showsText() || m.activeFilter() == "":
		m.message = "nothing is searched: / searches in a text"
		return m
	case a == previousMatch:
		return m.find(m.textViewport().cursor-1, -1)
	}
	return m.find(m.textViewport().cursor+1, 1)
}

// visibleLines says for the title which of n lines are visible in h rows; empty if all are.
func (m model) visibleLines(v viewport, n, h int) string {
	if n <= h {
		return ""
	}
	return "lines " + ui.GroupDigits(v.top+1) + m.theme.pickGlyph("–", "-") + ui.GroupDigits(min(v.top+h, n)) + " of " + ui.GroupDigits(n)
}

// findState says for the title which of the lines that match is the current one.
func findState(lines []line, wanted string, cursor int) string {
	all, at := 0, 0
	for i, l := range lines {
		if len(l.matchesOf(wanted)) > 0 {
			all++
			if i == cursor {
				at = all
			}
		}
	}
	switch {
	case all == 0:
		return "/" + wanted + ": no match"
	case at == 0:
		return fmt.Sprintf("/%s: %d", wanted, all)
	}
	return fmt.Sprintf("/%s: %d of %d", wanted, at, all)
}

// matchesOf returns where in its text, counted in characters, a line has words, ignoring
// case.
func (l line) matchesOf(wanted string) (starts []int) {
	text, want := []rune(l.plainText()), []rune(wanted)
	for at := 0; len(want) > 0 && at+len(want) <= len(text); at++ {
		if equalFold(text[at:at+len(want)], want) {
			starts = append(starts, at)
			at += len(want) - 1
		}
	}
	return starts
}

func equalFold(a, b []rune) bool {
	for i := range a {
		if unicode.ToLower(a[i]) != unicode.ToLower(b[i]) {
			return false
		}
	}
	return true
}

// withMatches returns the line with its matches in the style of what was found.
func (l line) withMatches(wanted string) line {
	starts, length := l.matchesOf(wanted), len([]rune(wanted))
	if len(starts) == 0 {
		return l
	}
	var out line
	at := 0 // characters before s
	for _, s := range l {
		for _, r := range s.text {
			for len(starts) > 0 && at >= starts[0]+length {
				starts = starts[1:]
			}
			st := s.style
			if len(starts) > 0 && at >= starts[0] {
				st = found
			}
			if n := len(out); n > 0 && out[n-1].style == st {
				out[n-1].text += string(r)
			} else {
				out = append(out, span{string(r), st})
			}
			at++
		}
	}
	return out
}
