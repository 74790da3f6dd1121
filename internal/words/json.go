package words

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapeJSON escapes the control and formatting characters in JSON that package json does not escape, such
// as those that change the text direction: it makes JSON with untrusted text safe for a terminal. In valid
// JSON they are only in strings.
func EscapeJSON(text []byte) []byte { return EscapeJSONFunc(text, isUnescaped) }

func isUnescaped(r rune) bool { return r >= 0x7f && unicode.In(r, unicode.Cc, unicode.Cf) }

// EscapeJSONFunc escapes the characters for which escapes returns true: those that are only in strings.
func EscapeJSONFunc(text []byte, escapes func(rune) bool) []byte {
	if bytes.IndexFunc(text, escapes) < 0 {
		return text
	}
	var b []byte
	for _, r := range string(text) {
		if !escapes(r) {
			b = utf8.AppendRune(b, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			b = fmt.Appendf(b, `\u%04x`, unit)
		}
	}
	return b
}
