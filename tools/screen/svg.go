package screen

import (
	"fmt"
	"html"
	"image/color"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/lucasb-eyer/go-colorful"
)

// The size of a cell, of the font in it and of the frame around all, in pixels.
// An eighth of a cell is whole pixels, so that no seams show.
const (
	cellWidth  = 8.0
	cellHeight = 16.0
	fontSize   = 13
	baseline   = 12.0 // of a row, from its top
	margin     = 14.0
)

// The terminal's own colours, on a dark background and on a light one.
const (
	darkBackground, darkText   = "#0d1117", "#e6edf3"
	lightBackground, lightText = "#ffffff", "#1f2328"
)

// SVG returns a picture of the screen that needs nothing else. It is dark, or
// light for whoever prefers that.
func (s *Screen) SVG() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return drawScreen(s.emulator)
}

// cellRun is cells of a row that look the same.
type cellRun struct {
	x, cells int
	text     string
	style    uv.Style
}

func drawScreen(e *vt.Emulator) string {
	var back, front strings.Builder
	p := palette{}
	for y := range e.Height() {
		for _, r := range splitRuns(e, y) {
			p.drawRun(&back, &front, r, rowY(y))
		}
	}
	return formatSVG(e.Width(), e.Height(), p, "", back.String()+front.String())
}

// formatSVG is a picture of cols columns and rows rows with that in it.
func formatSVG(cols, rows int, p palette, style, content string) string {
	w, h := columnX(cols)+margin, rowY(rows)+margin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f">
<style>
text { font: %dpx ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }
%s%s</style>
<rect width="%.0f" height="%.0f" rx="8" class="ground"/>
%s</svg>
`, w, h, w, h, fontSize, p.css(), style, w, h, content)
}

// drawRun adds the background and the text of a run whose row begins at y.
func (p *palette) drawRun(back, front *strings.Builder, r cellRun, y float64) {
	text, ground := p.colorClass(r.style.Fg, "text"), p.colorClass(r.style.Bg, "ground")
	if r.style.Attrs&uv.AttrReverse != 0 {
		text, ground = ground, text
	}
	if ground != "ground" {
		fmt.Fprintf(back, "<rect%s class=%q/>\n", rectAttributes(columnX(r.x), y, float64(r.cells)*cellWidth, cellHeight), ground)
	}
	drawCells(front, r, y, fmt.Sprintf(" class=%q", text))
}

func columnX(x int) float64 { return margin + float64(x)*cellWidth }
func rowY(y int) float64    { return margin + float64(y)*cellHeight }

// splitRuns divides a row into what looks the same. What is drawn as a shape, and
// the blanks between words, are runs of their own.
func splitRuns(e *vt.Emulator, y int) []cellRun {
	var result []cellRun
	for x := 0; x < e.Width(); x++ {
		c := e.CellAt(x, y)
		if c == nil || c.Width == 0 { // the second half of a wide character
			continue
		}
		text := c.Content
		if text == "" {
			text = " "
		}
		if n := len(result); n > 0 {
			if r := &result[n-1]; r.style.Equal(&c.Style) && cellKindOf(r.text) == cellKindOf(text) {
				r.text += text
				r.cells += c.Width
				continue
			}
		}
		result = append(result, cellRun{x, c.Width, text, c.Style})
	}
	return result
}

// drawCells adds what is in the cells of a run whose row begins at y; look are its
// attributes.
func drawCells(b *strings.Builder, r cellRun, y float64, look string) {
	if r.style.Attrs&uv.AttrFaint != 0 {
		look += ` opacity="0.6"`
	}
	switch cellKindOf(r.text) {
	case blankCell:
		return
	case shapeCell:
		marks := []rune(r.text)
		for from, to := 0, 0; from < len(marks); from = to {
			for to = from + 1; to < len(marks) && marks[to] == marks[from] && fillsWidth(marks[to]); to++ {
			}
			t, w, h := shapeRect(marks[from])
			w += float64(to - from - 1)
			fmt.Fprintf(b, "<rect%s%s/>\n", rectAttributes(columnX(r.x+from), y+t*cellHeight, w*cellWidth, h*cellHeight), look)
		}
		return
	}
	if r.style.Attrs&uv.AttrBold != 0 {
		look += ` font-weight="bold"`
	}
	if r.style.Attrs&uv.AttrItalic != 0 {
		look += ` font-style="italic"`
	}
	if r.style.Underline != uv.UnderlineNone {
		look += ` text-decoration="underline"`
	}
	// The length keeps columns straight in whatever font there is.
	fmt.Fprintf(b, `<text x="%g" y="%g" textLength="%g" lengthAdjust="spacingAndGlyphs"%s>%s</text>`+"\n",
		columnX(r.x), y+baseline, float64(r.cells)*cellWidth, look, html.EscapeString(r.text))
}

func rectAttributes(x, y, w, h float64) string {
	return fmt.Sprintf(` x="%g" y="%g" width="%g" height="%g"`, x, y, w, h)
}

// palette names the colours of a picture.
type palette struct{ names []string }

// colorClass is the class of a colour; nil is that of the terminal itself.
func (p *palette) colorClass(c color.Color, own string) string {
	if c == nil {
		return own
	}
	made, _ := colorful.MakeColor(c) // what is transparent is black
	name := made.Hex()
	if basic, ok := c.(ansi.BasicColor); ok && int(basic) < len(ansi16) {
		name = ansi16[basic]
	}
	for i, n := range p.names {
		if n == name {
			return fmt.Sprintf("c%d", i)
		}
	}
	p.names = append(p.names, name)
	return fmt.Sprintf("c%d", len(p.names)-1)
}

func (p *palette) css() string {
	var dark, light strings.Builder
	for i, name := range p.names {
		fmt.Fprintf(&dark, ".c%d { fill: %s }\n", i, name)
		fmt.Fprintf(&light, ".c%d { fill: %s }\n", i, invertLightness(name))
	}
	return fmt.Sprintf(".ground { fill: %s }\n.text { fill: %s }\n%s@media (prefers-color-scheme: light) {\n.ground { fill: %s }\n.text { fill: %s }\n%s}\n",
		darkBackground, darkText, dark.String(), lightBackground, lightText, light.String())
}

// ansi16 are the terminal's sixteen colours, those of a terminal on a dark background.
var ansi16 = [16]string{
	"#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
	"#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#f0f6fc",
}

// The lightest that a colour, other than a grey, may be on a light background.
const maxLightness = 0.36

// invertLightness is the colour that is as far from white as this one is from black, and
// far enough to be read.
func invertLightness(name string) string {
	c, err := colorful.Hex(name)
	if err != nil {
		return name // of Hex itself, so there is none
	}
	h, s, l := c.Hsl()
	if l = 1 - l; s > 0.2 {
		l = min(l, maxLightness)
	}
	return colorful.Hsl(h, s, l).Clamped().Hex()
}
