package words

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks s between words into lines of at most width characters. A longer word has a
// line of its own.
func Wrap(s string, width int) []string { return WrapFunc(s, width, utf8.RuneCountInString) }

// WrapFunc is Wrap for a width that widthOf measures.
func WrapFunc(s string, width int, widthOf func(string) int) []string {
	var lines []string
	current := ""
	for word := range strings.FieldsSeq(s) {
		switch {
		case current == "":
			current = word
		case widthOf(current)+1+widthOf(word) <= width:
			current += " " + word
		default:
			lines, current = append(lines, current), word
		}
	}
	if current != "" {
		lines = append(lines, current)
	}
	return lines
}
