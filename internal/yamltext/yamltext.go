// Package yamltext writes objects as YAML, whatever characters their strings contain.
// sigs.k8s.io/yaml fails for DEL and the control characters U+0080 to U+009F, because it
// reads JSON as YAML, which does not allow them unescaped, and reads U+0085 as a space.
package yamltext

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// Marshal returns v as YAML; its fields are named as in JSON.
func Marshal(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return FromJSON(text)
}

// FromJSON converts JSON to YAML.
func FromJSON(text []byte) ([]byte, error) {
	return yaml.JSONToYAML(EscapeJSON(text))
}

// EscapeJSON escapes the characters that YAML does not allow in a document or reads
// differently, so that a parser of YAML can read the JSON. In valid JSON they are only in
// strings.
func EscapeJSON(text []byte) []byte {
	if bytes.IndexFunc(text, needsEscape) < 0 {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if needsEscape(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

func needsEscape(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff
}
