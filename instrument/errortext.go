package instrument

import (
	"regexp"
	"strings"
)

// quoted begins an object or a list that the API server quotes in an error, in JSON: as "Invalid value: {".
var quoted = regexp.MustCompile(`(?:value|Not found): [{\[]`)

// errorText returns what is reported of an error: the objects that it quotes are left out, as what is wrong with them follows.
func errorText(text string) string {
	var b strings.Builder
	for b.Len() <= maxError {
		at := quoted.FindStringIndex(text)
		if at == nil {
			break
		}
		open := at[1] - 1
		length := jsonLength(text[open:])
		if length == 0 { // it is no JSON, or is cut
			b.WriteString(text[:at[1]])
			text = text[at[1]:]
			continue
		}
		end := open + length
		b.WriteString(text[:at[1]] + "…" + text[end-1:end])
		text = text[end:]
	}
	b.WriteString(text)
	return shorten(b.String(), maxError)
}

// jsonLength returns the length of the object or the list at the beginning of a text, 0 if it does not end.
func jsonLength(text string) int {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
