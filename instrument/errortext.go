package instrument

import (
	"encoding/json"
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
		if length == 0 { // it is not JSON, or is cut
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
	decoder := json.NewDecoder(strings.NewReader(text))
	var value json.RawMessage
	if decoder.Decode(&value) != nil {
		return 0
	}
	return int(decoder.InputOffset())
}
