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

// The sizes of a cell, its font and the margin in pixels. An eighth of a cell is a
// whole number of pixels, so that no seams are visible.
const (
	cellWidth  = 8.0
	cellHeight = 16.0
	fontSize   = 13
	baseline   = 12.0 // from the top of the row
	margin     = 14.0
)

// The default colors on a dark background and on a light one.
const (
	darkBackground, darkText   = "#0d1117", "#e6edf3"
	lightBackground, lightText = "#ffffff", "#1f2328"
)

// SVG returns a self-contained picture of the screen. Its colors follow the viewer's
// preference for dark or light.
func (s *Screen) SVG() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return drawScreen(s.emulator)
}

// cellRun is a run of cells in a row with the same style.
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

// formatSVG returns a picture of the given size with the given content.
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

// drawRun draws the background and the text of a run whose row begins at y.
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

// splitRuns splits a row into runs of the same style. Shapes, and blanks between words,
// are runs of their own.
func splitRuns(e *vt.Emulator, y int) []cellRun {
	var result []cellRun
	for x := range e.Width() {
		c := e.CellAt(x, y)
		if c == nil || c.Width == 0 { // the second cell of a wide character
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

// drawCells draws the text of a run whose row begins at y; look are attributes.
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
	// textLength aligns columns with any font.
	fmt.Fprintf(b, `<text x="%g" y="%g" textLength="%g" lengthAdjust="spacingAndGlyphs"%s>%s</text>`+"\n",
		columnX(r.x), y+baseline, float64(r.cells)*cellWidth, look, html.EscapeString(r.text))
}

func rectAttributes(x, y, w, h float64) string {
	return fmt.Sprintf(` x="%g" y="%g" width="%g" height="%g"`, x, y, w, h)
}

// palette assigns classes to the colors of a picture.
type palette struct{ names []string }

// colorClass returns the class of a color; nil is the default color.
func (p *palette) colorClass(c color.Color, own string) string {
	if c == nil {
		return own
	}
	made, _ := colorful.MakeColor(c) // transparent becomes black
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

// ansi16 are the 16 basic colors for a dark background.
var ansi16 = [16]string{
	"#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
	"#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#f0f6fc",
}

// maxLightness is the highest lightness of a color, other than grey, on a light background.
const maxLightness = 0.36

// invertLightness returns a color for a light background that is as far from white as the
// given one is from black, and dark enough to be read.
func invertLightness(name string) string {
	c, err := colorful.Hex(name)
	if err != nil {
		return name // cannot happen: the name comes from Hex
	}
	h, s, l := c.Hsl()
	if l = 1 - l; s > 0.2 {
		l = min(l, maxLightness)
	}
	return colorful.Hsl(h, s, l).Clamped().Hex()
}
