package yamltext

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The writer of YAML has no setting for what it escapes. It does escape a marker and a code, private
// characters both, and so puts a string that has them in double quotes: they stand for a
// character that it would not escape. A marker in the text is doubled, and
// nothing else in marked text looks like the escape of one.
const (
	marker       = '\U0010FFFF'
	markerEscape = `\U0010FFFF`
	firstCode    = 0x100000
	codeEscape   = `\U0010`
)

var unmarker = strings.NewReplacer(markerEscape+markerEscape, markerEscape, markerEscape+codeEscape, `\u`)

// separators are the line and paragraph separators, which package json escapes. A backslash is
// left as it is, with the character after it.
var separators = strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029")

// mark replaces the formatting characters and separators in JSON, and reports whether it has any.
func mark(text []byte) (marked []byte, found bool) {
	if bytes.Contains(text, []byte(`\u202`)) {
		text = []byte(separators.Replace(string(text)))
	}
	if bytes.IndexFunc(text, needsMark) < 0 {
		return text, false
	}
	for i, r := range string(text) {
		switch {
		case r == marker:
			marked = utf8.AppendRune(utf8.AppendRune(marked, marker), marker)
		case needsMark(r) || bytes.HasPrefix(text[i:], []byte(markerEscape[1:])):
			marked = utf8.AppendRune(utf8.AppendRune(marked, marker), firstCode+r)
		default:
			marked = utf8.AppendRune(marked, r)
		}
	}
	return marked, true
}

// unmark replaces what the marks have become in YAML with the escapes of the characters.
func unmark(text []byte) []byte { return []byte(unmarker.Replace(string(text))) }

// needsMark excludes what is escaped anyway: the characters beyond the basic plane.
func needsMark(r rune) bool {
	return r > 0x7f && r <= 0xffff && unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}
