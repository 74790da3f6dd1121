package trace

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// Style describes how text is drawn.
type Style struct {
	Color bool           // use colors; no information depends on them
	ASCII bool           // use ASCII characters only
	Width int            // columns; 0 = unlimited
	Zone  *time.Location // for the time in the first line; nil = UTC
}

// painter writes text.
type painter struct {
	Style
	phrases
	b         strings.Builder
	rounds    map[*Node]foldedRounds // of the tree that is drawn
	likely    []string               // the marks that were drawn for what is likely
	timeWidth int                    // of the longest time
}

// minTimeWidth is the width of the times of what takes less than a minute.
const minTimeWidth = 10

func newPainter(s Style, p phrases) *painter {
	p.ascii = s.ASCII
	return &painter{Style: s, phrases: p, timeWidth: minTimeWidth}
}

// fitTimes makes room for the times of nodes.
func (p *painter) fitTimes(nodes iter.Seq[*Node]) {
	for n := range nodes {
		p.timeWidth = max(p.timeWidth, utf8.RuneCountInString(p.sinceStart(n.After)))
	}
}

// sinceStart is the time of a line.
func (p *painter) sinceStart(d time.Duration) string { return "+" + p.formatOffset(d) }

// textColumn is where what follows the time begins.
func (p *painter) textColumn() int { return p.timeWidth + len("  ") }

func (p *painter) formatClock(t time.Time) string { return p.FormatClock(t) }

// FormatClock returns the time of day.
func (s Style) FormatClock(t time.Time) string {
	zone := s.Zone
	if zone == nil {
		zone = time.UTC
	}
	return t.In(zone).Format("15:04:05.000")
}

func (p *painter) color(code, s string) string {
	if !p.Color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + endColor
}

func (p *painter) faint(s string) string          { return p.color("2", s) }
func (p *painter) strong(s string) string         { return p.color("1", s) }
func (p *painter) bad(s string) string            { return p.color("31", s) }
func (p *painter) warn(s string) string           { return p.color("33", s) }
func (p *painter) controllerName(s string) string { return p.color("36", words.OneLine(s)) }

func (p *painter) pickGlyph(unicode, ascii string) string {
	if p.ASCII {
		return ascii
	}
	return unicode
}

// writeLine writes a line: the time since the start, if any, the branch and the text,
// which continues on lines that begin with rest if it is longer than the width.
func (p *painter) writeLine(after *time.Duration, branch, rest, text string) {
	when := ""
	if after != nil {
		when = p.sinceStart(*after)
	}
	pad := strings.Repeat(" ", max(p.timeWidth-len([]rune(when)), 0))
	branch, rest = p.cutLead(branch), p.cutLead(rest)
	lines := p.wrap(text, p.Width-p.textColumn()-max(len([]rune(branch)), len([]rune(rest))+len(continued)))
	p.b.WriteString(p.truncate(pad+p.faint(when)+"  "+p.faint(branch)+lines[0]) + "\n")
	for _, line := range lines[1:] {
		p.b.WriteString(p.truncate(strings.Repeat(" ", p.textColumn())+p.faint(rest)+continued+line) + "\n")
	}
}

// cutLead cuts what precedes the text of a line such that minTextWidth columns are left for
// the text: of a branch far from the root, the part near the root.
func (p *painter) cutLead(lead string) string {
	runes := []rune(lead)
	most := max(p.Width-p.textColumn()-len(continued)-minTextWidth, 0)
	if p.Width < 1 || len(runes) <= most {
		return lead
	}
	return p.pickGlyph("…", "~") + string(runes[min(len(runes)-most+1, len(runes)):])
}

// continued indents the rest of a long text.
const continued = "  "

// minTextWidth is how much of a line its text has at least, unless the lines are shorter.
const minTextWidth = 24

// wrap breaks a text at spaces into lines of a width.
func (p *painter) wrap(text string, width int) (lines []string) {
	if p.Width < 1 {
		return []string{text}
	}
	width = max(width, minTextWidth)
	line, used := "", 0
	for _, word := range unbrokenWords(text) {
		n := visibleWidth(word)
		if used > 0 && used+1+n > width {
			lines = append(lines, line)
			line, used = "", 0
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		for n > width && !words.HasCommand(word) { // such as a long name: its end may be what matters
			var begin string
			begin, word = cutColumns(word, width)
			lines, n = append(lines, begin), n-width
		}
		line, used = line+word, used+n
	}
	return carryColors(append(lines, line))
}

// cutColumns cuts a text after some columns.
func cutColumns(s string, columns int) (before, after string) {
	escape := false
	for i, r := range s {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		case columns == 0:
			return s[:i], s[i:]
		default:
			columns--
		}
	}
	return s, ""
}

// endColor ends a color.
const endColor = "\x1b[0m"

// carryColors ends the color of a text at the end of each of its lines, and begins it again
// on the next one: what precedes that has another.
func carryColors(lines []string) []string {
	color := ""
	for i, line := range lines {
		line = color + line
		if at := strings.LastIndex(line, "\x1b["); at >= 0 {
			color = line[at : at+strings.Index(line[at:], "m")+1]
		}
		if color == endColor {
			color = ""
		}
		if color != "" {
			line += endColor
		}
		lines[i] = line
	}
	return lines
}

// unbrokenWords returns the words of a text: a number with its unit is one, and a quoted command, too.
func unbrokenWords(text string) (list []string) {
	for _, word := range words.JoinCommands(strings.Split(text, " ")) {
		last := len(list) - 1
		unit := strings.TrimRight(word, ",;:.)")
		if last >= 0 && slices.Contains([]string{"µs", "us", "ms", "s", "m"}, unit) && list[last] != "" && unicode.IsDigit(rune(list[last][len(list[last])-1])) {
			list[last] += " " + word
			continue
		}
		list = append(list, word)
	}
	return list
}

// visibleWidth returns the number of columns of a text with escape sequences.
func visibleWidth(s string) (columns int) {
	escape := false
	for _, r := range s {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			columns++
		}
	}
	return columns
}

// writeSentence writes a text that is wrapped at the width.
func (p *painter) writeSentence(text string) {
	for _, line := range p.wrap(text, p.Width) {
		p.b.WriteString(p.truncate(line) + "\n")
	}
}

// truncate cuts a line to the width, but no command. Escape sequences have no width.
func (p *painter) truncate(line string) string {
	if p.Width < 1 || visibleWidth(line) <= p.Width || words.HasCommand(line) {
		return line
	}
	line, _ = cutColumns(line, p.Width-1)
	line += p.pickGlyph("…", "~")
	if p.Color {
		line += endColor
	}
	return line
}

// noteLikely returns a mark for something likely; the legend explains sign, the telling part of it.
func (p *painter) noteLikely(mark, sign string) string {
	if !slices.Contains(p.likely, sign) {
		p.likely = append(p.likely, sign)
	}
	return mark
}

func (p *painter) writeLegend() {
	if len(p.likely) > 0 {
		fmt.Fprintf(&p.b, "\n%s\n", p.faint(strings.Join(p.likely, " and ")+" likely, not certain"))
	}
}
