package main

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// svgPicture is a self-contained SVG drawing. Later elements cover earlier ones.
type svgPicture struct{ strings.Builder }

// seriesColors can be distinguished with color blindness and in print.
var seriesColors = []string{"#1f6feb", "#d4690c", "#2f8f46"}

const inkColor, ruleColor = "#24292f", "#d0d7de"

func newSVGPicture(width, height int, title string) *svgPicture {
	p := &svgPicture{}
	fmt.Fprintf(p, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="sans-serif" font-size="12" fill="%s">`+"\n", width, height, width, height, inkColor)
	fmt.Fprintf(p, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n", html.EscapeString(title))
	p.drawText(20, 26, "start", title, ` font-size="15" font-weight="bold"`)
	return p
}

// String ends the picture.
func (p *svgPicture) String() string { return p.Builder.String() + "</svg>\n" }

// drawText draws a text with the anchor start, middle or end.
func (p *svgPicture) drawText(x, y float64, anchor, text, attributes string) {
	fmt.Fprintf(p, `<text x="%s" y="%s" text-anchor="%s"%s>%s</text>`+"\n", formatCoord(x), formatCoord(y), anchor, attributes, html.EscapeString(text))
}

func (p *svgPicture) drawRect(x, y, width, height float64, color string) {
	fmt.Fprintf(p, `<rect x="%s" y="%s" width="%s" height="%s" rx="2" fill="%s"/>`+"\n", formatCoord(x), formatCoord(y), formatCoord(width), formatCoord(height), color)
}

func (p *svgPicture) drawRule(x1, y1, x2, y2 float64) {
	fmt.Fprintf(p, `<path d="M%s %sL%s %s" stroke="%s"/>`+"\n", formatCoord(x1), formatCoord(y1), formatCoord(x2), formatCoord(y2), ruleColor)
}

// formatCoord formats a coordinate with one decimal.
func formatCoord(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// chartSeries is a series of values, one for each x value of its chart.
type chartSeries struct {
	label  string
	values []float64
}

// chart has lines over a logarithmic x axis and a y axis from 0.
type chart struct {
	top, height float64
	title       string
	x           []float64
	series      []chartSeries
}

const (
	chartLeft  = 70.0
	chartWidth = 540.0
)

func (p *svgPicture) drawChart(c chart) {
	most := 0.0
	for _, l := range c.series {
		for _, v := range l.values {
			most = max(most, v)
		}
	}
	ticks := axisTicks(most)
	highest := ticks[len(ticks)-1]
	y := func(v float64) float64 { return c.top + c.height*(1-v/highest) }
	p.drawText(20, c.top-18, "start", c.title, ` font-weight="bold"`)
	for _, v := range ticks {
		p.drawRule(chartLeft, y(v), chartLeft+chartWidth, y(v))
		p.drawText(chartLeft-8, y(v)+4, "end", strconv.FormatFloat(v, 'g', 6, 64), "")
	}
	for _, v := range c.x {
		p.drawText(c.xPosition(v), c.top+c.height+18, "middle", strconv.FormatFloat(v, 'f', -1, 64), "")
	}
	for i, l := range c.series {
		shift := []float64{-8, 17}[i%2] // keeps the figures of crossing lines apart
		p.drawSeries(l, seriesColors[i%len(seriesColors)], shift, c.xPosition, y, c.x)
	}
}

// xPosition returns the position of a value on the x axis.
func (c chart) xPosition(v float64) float64 {
	first, last := math.Log(c.x[0]), math.Log(c.x[len(c.x)-1])
	if first == last {
		return chartLeft + chartWidth/2
	}
	const margin = 20
	return chartLeft + margin + (chartWidth-2*margin)*(math.Log(v)-first)/(last-first)
}

func (p *svgPicture) drawSeries(l chartSeries, color string, shift float64, x, y func(float64) float64, at []float64) {
	var points []string
	for i, v := range l.values {
		points = append(points, formatCoord(x(at[i]))+","+formatCoord(y(max(v, 0))))
	}
	fmt.Fprintf(p, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), color)
	for i, v := range l.values {
		cx, cy := x(at[i]), y(max(v, 0))
		fmt.Fprintf(p, `<circle cx="%s" cy="%s" r="3.5" fill="%s"/>`+"\n", formatCoord(cx), formatCoord(cy), color)
		p.drawText(cx, cy+shift, "middle", formatFigure(v), ` fill="`+color+`"`)
	}
	last := len(l.values) - 1
	p.drawText(chartLeft+chartWidth+10, y(max(l.values[last], 0))+4, "start", l.label, ` fill="`+color+`"`)
}

// axisTicks returns five to eleven round numbers from 0 to at least most.
func axisTicks(most float64) []float64 {
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
