package live

import (
	"math"
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

// historySamples is the maximum length of a queue's history, one sample per second.
const historySamples = 60

// barScale returns a round number that is not less than the deepest queue.
func barScale(deepest int64) int64 {
	scale := int64(10)
	for range 18 { // up to 5e18, the last that an int64 holds
		for _, n := range []int64{scale, 2 * scale, 5 * scale} {
			if n >= deepest {
				return n
			}
		}
		scale *= 10
	}
	return math.MaxInt64
}

// depthBar draws a depth in w columns of a linear scale, and behind it up to which the
// queue was filled in the last second. The depth is exact to an eighth of a column, so that a
// few keys can be compared beside many. A key is always visible.
func (t *theme) depthBar(depth, peak, scale int64, w int) line {
	steps := []rune(t.pickGlyph("▏▎▍▌▋▊▉█", "#"))
	length := func(n int64, each int) int { // in parts of a column
		full := float64(w * each)
		return int(min(math.Round(float64(max(n, 0))/float64(scale)*full), full))
	}
	each := len(steps)
	parts := length(depth, each)
	if depth > 0 && w > 0 {
		parts = max(parts, 1)
	}
	bar := strings.Repeat(string(steps[each-1]), parts/each)
	if rest := parts % each; rest > 0 {
		bar += string(steps[rest-1])
	}
	full := textWidth(bar)
	lately := strings.Repeat(t.pickGlyph("░", "-"), max(length(peak, 1)-full, 0))
	if peak > 0 && full == 0 && lately == "" && w > 0 {
		lately = t.pickGlyph("┊", "-") // less than half a column
	}
	return line{{bar, barFill}, {lately, barPeak}, {spaces(w - full - textWidth(lately)), plain}}
}

// chartWidth returns the widest chart of one minute that fits w columns and has
// the same number of seconds in every column.
func chartWidth(w int) int {
	for _, n := range []int{60, 30, 20, 15, 12, 10, 6} {
		if n <= w {
			return n
		}
	}
	return 0
}

// depthChart draws the depths of the last minute in w columns (from chartWidth) and
// h rows. second is the time of the newest sample: columns start at multiples of
// their length, so that they shift left without changing.
func (t *theme) depthChart(history []observe.Sample, second int64, w, h int) []string {
	if w <= 0 {
		return make([]string, h)
	}
	tops := columnMaxima(history, second, w)
	highest := int64(8) // so that a few keys do not fill the chart
	for _, d := range tops {
		highest = max(highest, d)
	}
	levels := []rune(t.pickGlyph(" ▁▂▃▄▅▆▇█", " .:-=+*#@"))
	steps := len(levels) - 1
	rows := make([]string, h)
	for y := range h {
		row := make([]rune, w)
		floor := (h - 1 - y) * steps
		for x, d := range tops {
			level := int(math.Ceil(float64(d) / float64(highest) * float64(h*steps)))
			row[x] = levels[min(max(level-floor, 0), steps)]
		}
		rows[y] = string(row)
	}
	return rows
}

// columnMaxima returns the highest depth in each of the w columns, newest last.
func columnMaxima(history []observe.Sample, second int64, w int) []int64 {
	each := int64(historySamples / w)
	tops := make([]int64, w)
	for i, s := range history {
		at := second - int64(len(history)-1-i)
		x := int64(w-1) - (second/each - at/each)
		if x >= 0 {
			tops[x] = max(tops[x], s.MaxDepth)
		}
	}
	return tops
}
