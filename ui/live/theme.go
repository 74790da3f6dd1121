package live

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/ctrlplane/ctrlplane/observe"
)

// style is the role of a piece of text, which determines its look. The text never
// depends on the style alone.
type style int

const (
	plain      style = iota
	faint            // secondary text
	strong           // headings, names
	good             // settled, running, created
	bad              // failures
	caution          // conflicts, retries, warnings
	accent           // activity
	deletion         // deletions
	highlight        // focus, keys
	barFill          // the depth of a queue, as a bar
	barPeak          // its peak
	found            // what a search has found
	styleCount       // number of styles
)

// theme defines the look of styles and marks on a terminal. It is immutable.
type theme struct {
	themeOptions
	on, off       [styleCount]string
	selOn, selOff [styleCount]string
}

// themeOptions are what a theme depends on.
type themeOptions struct {
	color bool // without it, no escapes are used
	dark  bool // the background
	ascii bool
	mono  bool // bold, faint and reversed text only
	// basic uses the 16 colours of the terminal's own palette, which fit its background:
	// for terminals that have no others or do not tell their background.
	basic bool
}

func (o themeOptions) build() *theme {
	t := &theme{themeOptions: o}
	if !o.color {
		return t
	}
	looks, selection := o.looks()
	for i, look := range looks {
		t.on[i], t.off[i] = splitStyle(look)
		if i == int(faint) { // faint text has too little contrast on the selection
			look = lipgloss.NewStyle()
		}
		selected := selection(look)
		if o.basic && !o.mono && i == int(bad) { // what fails is red in any row
			selected = selected.Foreground(look.GetForeground())
		}
		t.selOn[i], t.selOff[i] = splitStyle(selected)
		if t.isSolid(style(i)) {
			t.selOn[i], t.selOff[i] = t.on[i], t.off[i]
		}
	}
	return t
}

// looks returns the look of each style, and what selects a line.
func (o themeOptions) looks() (looks [styleCount]lipgloss.Style, selection func(lipgloss.Style) lipgloss.Style) {
	base := lipgloss.NewStyle()
	reversed := func(look lipgloss.Style) lipgloss.Style {
		return base.Reverse(!look.GetReverse()).Bold(look.GetBold()) // an underline would run through blanks
	}
	switch {
	case o.mono:
		return [styleCount]lipgloss.Style{
			plain: base, faint: base.Faint(true), strong: base.Bold(true), good: base, bad: base.Bold(true).Underline(true),
			caution: base.Underline(true), accent: base, deletion: base, highlight: base.Bold(true),
			barFill: base, barPeak: base, found: base.Reverse(true),
		}, reversed
	case o.basic:
		blue, amber := lipgloss.Cyan, lipgloss.Yellow
		if !o.dark { // the cyan and the yellow of many terminals are hard to read on white
			blue, amber = lipgloss.Blue, lipgloss.Magenta
		}
		return [styleCount]lipgloss.Style{
			plain: base, faint: base.Faint(true), strong: base.Bold(true), good: base.Foreground(lipgloss.Green),
			bad: base.Foreground(lipgloss.Red).Bold(true), caution: base.Foreground(amber), accent: base.Foreground(blue),
			deletion: base.Foreground(lipgloss.Magenta), highlight: base.Foreground(blue).Bold(true),
			barFill: base.Foreground(blue), barPeak: base.Foreground(amber), found: base.Reverse(true),
		}, reversed
	}
	pick := lipgloss.LightDark(o.dark)
	shade := func(light, dark string) colour { return pick(lipgloss.Color(light), lipgloss.Color(dark)) }
	return [styleCount]lipgloss.Style{
			plain:     base,
			faint:     base.Foreground(shade("243", "245")),
			strong:    base.Bold(true),
			good:      base.Foreground(shade("28", "114")),
			bad:       base.Foreground(shade("160", "203")).Bold(true),
			caution:   base.Foreground(shade("130", "221")),
			accent:    base.Foreground(shade("25", "80")),
			deletion:  base.Foreground(shade("90", "176")),
			highlight: base.Foreground(shade("25", "80")).Bold(true),
			barFill:   base.Foreground(shade("25", "80")),
			barPeak:   base.Foreground(shade("130", "221")),
			found:     base.Reverse(true),
		}, func(look lipgloss.Style) lipgloss.Style {
			return look.Background(shade("254", "237"))
		}
}

type colour = color.Color

// isSolid reports whether a style keeps its look in a selected line: in reversed video a bar
// would be a hole. Without colours it has to be one.
func (o themeOptions) isSolid(st style) bool {
	return o.basic && !o.mono && (st == barFill || st == barPeak)
}

// splitStyle returns the escapes that a style writes before and after text.
func splitStyle(s lipgloss.Style) (on, off string) {
	on, off, _ = strings.Cut(s.Render("x"), "x")
	return on, off
}

// renderLine draws a line in at most w columns, or exactly w if it is selected.
func (t *theme) renderLine(l line, w int, selected bool) string {
	l = l.truncate(w, t.ellipsis())
	on, off := &t.on, &t.off
	if selected = selected && t.color; selected {
		on, off = &t.selOn, &t.selOff
		l = append(append(line(nil), l...), span{spaces(w - l.width()), plain})
	}
	var b, run strings.Builder
	for i := 0; i < len(l); {
		st := l[i].style
		mixes := !t.marksBlanks(st) && (!selected || !t.isSolid(st)) // blanks look the same in all other styles
		for ; i < len(l) && (l[i].style == st || mixes && isBlank(l[i].text)); i++ {
			run.WriteString(l[i].text)
		}
		s := run.String()
		if i == len(l) && !selected {
			s = strings.TrimRight(s, " ")
		}
		before, after := "", ""
		if !selected && t.marksBlanks(st) && st != found {
			words := strings.Trim(s, " ")
			before, after, _ = strings.Cut(s, words)
			s = words
		}
		if s != "" {
			s = on[st] + s + off[st]
		}
		b.WriteString(before + s + after)
		run.Reset()
	}
	return b.String()
}

// marksBlanks reports whether a style is visible on blanks, as underlines are.
func (o themeOptions) marksBlanks(st style) bool {
	return st == found || o.mono && (st == bad || st == caution)
}

func isBlank(s string) bool { return strings.Trim(s, " ") == "" }

// pickGlyph returns the glyph that the terminal can display.
func (t *theme) pickGlyph(unicode, ascii string) string {
	if t.ascii {
		return ascii
	}
	return unicode
}

// plainSpeed returns a speed in glyphs that the terminal can display.
func (t *theme) plainSpeed(s observe.Speed) string {
	if t.ascii && s != observe.SpeedStep {
		return string(s) + "x"
	}
	return s.String()
}

// ellipsis marks truncated text.
func (t *theme) ellipsis() string { return t.pickGlyph("…", ">") }

// zeroMark stands for zero.
func (t *theme) zeroMark() string { return t.pickGlyph("·", ".") }
