package live

import (
	"math"
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

// historySamples is how many samples a queue's history has at most, one a second.
const historySamples = 60

// depthBar draws a depth in w columns. It grows with the logarithm, so that a bar
// keeps its length when another queue grows: full is 4095 keys.
func (t *theme) depthBar(depth int64, w int) string {
	const full = 12 // bits
	if depth <= 0 || w <= 0 {
		return ""
	}
	share := min(1, math.Log2(float64(depth)+1)/full)
	if t.ascii {
		return strings.Repeat("#", max(1, int(share*float64(w))))
	}
	eighths := max(1, int(share*float64(w)*8))
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return s
}

// chartWidth is the widest chart of a minute in at most w columns in which every
// column is the same number of seconds.
func chartWidth(w int) int {
	for _, n := range []int{60, 30, 20, 15, 12, 10, 6} {
		if n <= w {
			return n
		}
	}
	return 0
}

// depthChart draws the depths of the last minute in w columns, as of chartWidth, and
// h rows. second is when the newest sample was taken: columns begin at full
// multiples of their length, so that they move on without changing.
func (t *theme) depthChart(history []observe.Sample, second int64, w, h int) []string {
	if w <= 0 {
		return make([]string, h)
	}
	tops := columnMaxima(history, second, w)
	highest := int64(8) // a few keys are no peak
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

// columnMaxima is the highest depth of each of the w columns, the newest last.
func columnMaxima(history []observe.Sample, second int64, w int) []int64 {
	each := int64(historySamples / w)
	tops := make([]int64, w)
	for i, s := range history {
		at := second - int64(len(history)-1-i)
		x := int64(w-1) - (second/each - at/each)
		if x >= 0 {
			tops[x] = max(tops[x], s.Depth)
		}
	}
	return tops
}
