// Package yamltext writes objects as YAML, whatever characters their strings contain.
// sigs.k8s.io/yaml fails for DEL and the control characters U+0080 to U+009F, because it
// reads JSON as YAML, which does not allow them unescaped, and reads U+0085 as a space. It
// writes characters that change the text direction or end a line as they are: here they are escaped.
package yamltext

import (
	"encoding/json"

	"sigs.k8s.io/yaml"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// Marshal returns v as YAML; its fields are named as in JSON.
func Marshal(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return FromJSON(text)
}

// FromJSON converts JSON that package json has written to YAML without control characters,
// formatting characters and line separators.
func FromJSON(text []byte) ([]byte, error) {
	marked, found := mark(text)
	out, err := yaml.JSONToYAML(EscapeJSON(marked))
	if found {
		out = unmark(out)
	}
	return out, err
}

// EscapeJSON escapes the characters that YAML does not allow in a document or reads
// differently, so that a parser of YAML can read the JSON. None needs two escapes, as
// others do in [words.EscapeJSON]: YAML does not know surrogate pairs.
func EscapeJSON(text []byte) []byte { return words.EscapeJSONFunc(text, needsEscape) }

func needsEscape(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff
}
