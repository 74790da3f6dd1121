package screen

import "unicode/utf8"

// kind tells how what is in a cell is drawn.
type kind int

const (
	letter kind = iota
	blank
	shape // a block or a rule, which fonts draw with gaps between
)

// kindOf tells the kind of a text by its first character.
func kindOf(text string) kind {
	mark, _ := utf8.DecodeRuneInString(text)
	if mark == ' ' {
		return blank
	}
	if _, _, h := shapeOf(mark); h > 0 {
		return shape
	}
	return letter
}

// shapeOf is the part of its cell that a character fills, from the left; no
// height if it is not one of those that are drawn as a shape.
func shapeOf(mark rune) (top, width, height float64) {
	switch {
	case mark == '─':
		return 0.5, 1, 0.0625
	case '▁' <= mark && mark <= '█': // eighths, from below
		h := float64(mark-'▁'+1) / 8
		return 1 - h, 1, h
	case '▉' <= mark && mark <= '▏': // eighths, from the left
		return 0, float64('▏'-mark+1) / 8, 1
	}
	return 0, 0, 0
}

// joins tells whether a shape reaches from one side of its cell to the other.
func joins(mark rune) bool {
	_, width, _ := shapeOf(mark)
	return width == 1
}
