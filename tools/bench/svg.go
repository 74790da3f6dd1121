package main

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// picture is a drawing in SVG that needs nothing else. It is written from the
// back to the front.
type picture struct{ strings.Builder }

// colors are told apart by those who see few, and on paper.
var colors = []string{"#1f6feb", "#d4690c", "#2f8f46"}

const ink, rule = "#24292f", "#d0d7de"

func newPicture(width, height int, title string) *picture {
	p := &picture{}
	fmt.Fprintf(p, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="sans-serif" font-size="12" fill="%s">`+"\n", width, height, width, height, ink)
	fmt.Fprintf(p, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n", html.EscapeString(title))
	p.text(20, 26, "start", title, ` font-size="15" font-weight="bold"`)
	return p
}

// String ends the picture.
func (p *picture) String() string { return p.Builder.String() + "</svg>\n" }

// text is anchored at its start, middle or end.
func (p *picture) text(x, y float64, anchor, text, attributes string) {
	fmt.Fprintf(p, `<text x="%s" y="%s" text-anchor="%s"%s>%s</text>`+"\n", pos(x), pos(y), anchor, attributes, html.EscapeString(text))
}

func (p *picture) rect(x, y, width, height float64, color string) {
	fmt.Fprintf(p, `<rect x="%s" y="%s" width="%s" height="%s" rx="2" fill="%s"/>`+"\n", pos(x), pos(y), pos(width), pos(height), color)
}

func (p *picture) rule(x1, y1, x2, y2 float64) {
	fmt.Fprintf(p, `<path d="M%s %sL%s %s" stroke="%s"/>`+"\n", pos(x1), pos(y1), pos(x2), pos(y2), rule)
}

// pos writes a coordinate to the tenth.
func pos(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// line is a series of values, one for each x of its chart.
type line struct {
	label  string
	values []float64
}

// chart is lines over a logarithmic x axis, with a y axis from 0.
type chart struct {
	top, height float64
	title       string
	x           []float64
	lines       []line
}

const (
	chartLeft  = 70.0
	chartWidth = 540.0
)

func (p *picture) chart(c chart) {
	most := 0.0
	for _, l := range c.lines {
		for _, v := range l.values {
			most = max(most, v)
		}
	}
	ticks := scale(most)
	highest := ticks[len(ticks)-1]
	y := func(v float64) float64 { return c.top + c.height*(1-v/highest) }
	p.text(20, c.top-18, "start", c.title, ` font-weight="bold"`)
	for _, v := range ticks {
		p.rule(chartLeft, y(v), chartLeft+chartWidth, y(v))
		p.text(chartLeft-8, y(v)+4, "end", strconv.FormatFloat(v, 'g', 6, 64), "")
	}
	for _, v := range c.x {
		p.text(c.at(v), c.top+c.height+18, "middle", strconv.FormatFloat(v, 'f', -1, 64), "")
	}
	for i, l := range c.lines {
		shift := []float64{-8, 17}[i%2] // so that the figures of two lines that meet can be read
		p.series(l, colors[i%len(colors)], shift, c.at, y, c.x)
	}
}

// at is where on the x axis a value is.
func (c chart) at(v float64) float64 {
	first, last := math.Log(c.x[0]), math.Log(c.x[len(c.x)-1])
	if first == last {
		return chartLeft + chartWidth/2
	}
	const margin = 20
	return chartLeft + margin + (chartWidth-2*margin)*(math.Log(v)-first)/(last-first)
}

func (p *picture) series(l line, color string, shift float64, x, y func(float64) float64, at []float64) {
	var points []string
	for i, v := range l.values {
		points = append(points, pos(x(at[i]))+","+pos(y(max(v, 0))))
	}
	fmt.Fprintf(p, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), color)
	for i, v := range l.values {
		cx, cy := x(at[i]), y(max(v, 0))
		fmt.Fprintf(p, `<circle cx="%s" cy="%s" r="3.5" fill="%s"/>`+"\n", pos(cx), pos(cy), color)
		p.text(cx, cy+shift, "middle", figure(v), ` fill="`+color+`"`)
	}
	last := len(l.values) - 1
	p.text(chartLeft+chartWidth+10, y(max(l.values[last], 0))+4, "start", l.label, ` fill="`+color+`"`)
}

// scale are round numbers from 0 to at least most, five to eleven of them.
func scale(most float64) []float64 {
	if most <= 0 {
		most = 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(most)))
	for _, part := range []float64{0.1, 0.2, 0.5, 1} {
		if n := math.Ceil(most / (unit * part)); n <= 10 {
			list := make([]float64, int(n)+1)
			for i := range list {
				list[i] = float64(i) * unit * part
			}
			return list
		}
	}
	return []float64{0, 10 * unit}
}
