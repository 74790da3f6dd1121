package words

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks s between words into lines of at most width characters. A longer word has a
// line of its own.
func Wrap(s string, width int) []string {
	var lines []string
	current := ""
	for word := range strings.FieldsSeq(s) {
		switch {
		case current == "":
			current = word
		case utf8.RuneCountInString(current)+1+utf8.RuneCountInString(word) <= width:
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
