package screen

import "unicode/utf8"

// cellKind is how the content of a cell is drawn.
type cellKind int

const (
	textCell cellKind = iota
	blankCell
	shapeCell // a block or a line, which fonts draw with gaps
)

// cellKindOf returns the kind of a text by its first character.
func cellKindOf(text string) cellKind {
	mark, _ := utf8.DecodeRuneInString(text)
	if mark == ' ' {
		return blankCell
	}
	if _, _, h := shapeRect(mark); h > 0 {
		return shapeCell
	}
	return textCell
}

// shapeRect returns the part of its cell that a character fills, from the left; the
// height is 0 if it is not drawn as a shape.
func shapeRect(mark rune) (top, width, height float64) {
	switch {
	case mark == '─':
		return 0.5, 1, 0.0625
	case '▁' <= mark && mark <= '█': // eighths from the bottom
		h := float64(mark-'▁'+1) / 8
		return 1 - h, 1, h
	case '▉' <= mark && mark <= '▏': // eighths from the left
		return 0, float64('▏'-mark+1) / 8, 1
	}
	return 0, 0, 0
}

// fillsWidth reports whether a shape spans the width of its cell.
func fillsWidth(mark rune) bool {
	_, width, _ := shapeRect(mark)
	return width == 1
}
