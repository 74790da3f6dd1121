package words

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Wrap breaks s between words into lines of at most width characters. A longer word has a
// line of its own.
func Wrap(s string, width int) []string { return WrapFunc(s, width, utf8.RuneCountInString) }

// WrapFunc is Wrap for a width that widthOf measures.
func WrapFunc(s string, width int, widthOf func(string) int) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return WrapLead(s, "", "", width, widthOf)
}

// WrapLead is WrapFunc with a first line that begins with first, and others that begin with rest. It does not break
// at a non-breaking space, nor within a quoted command.
func WrapLead(s, first, rest string, width int, widthOf func(string) int) (lines []string) {
	line, column := first, widthOf(first)
	for i, word := range JoinCommands(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) && r != '\u00a0' })) {
		w := widthOf(word)
		if i > 0 && column+1+w > width {
			lines = append(lines, line)
			line, column = rest, widthOf(rest)
		} else if i > 0 {
			line, column = line+" ", column+1
		}
		line, column = line+word, column+w
	}
	return append(lines, line)
}
