// Package secretmask hides the values of Secrets before they are shown.
package secretmask

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Value is a value that a Secret keeps secret.
type Value struct {
	Name    string
	Encoded bool // the field wants base64
	value   any
}

// Mask replaces each value in a decoded Secret, or a patch of one, by its length, whatever its type:
// what is shown need not be valid.
func Mask(secret map[string]any) {
	Replace(secret, func(v Value) string { return fmt.Sprintf("*** (%d bytes)", v.Len()) })
}

// Replace replaces each value in a decoded Secret, or a patch of one, whatever its type. A null stays:
// in a patch it removes a value. Fields of Secrets that are of another type than theirs are removed.
func Replace(secret map[string]any, replacement func(Value) string) {
	replace := func(values map[string]any, name string, encoded bool) {
		if value := values[name]; value != nil {
			values[name] = replacement(Value{name, encoded, value})
		}
	}
	for _, field := range []string{"data", "stringData"} {
		values, ok := secret[field].(map[string]any)
		if !ok && secret[field] != nil {
			delete(secret, field)
		}
		for name := range values {
			replace(values, name, field == "data")
		}
	}
	// kubectl's annotation has the values, too.
	meta, ok := secret["metadata"].(map[string]any)
	if !ok {
		delete(secret, "metadata")
		return
	}
	annotations, ok := meta["annotations"].(map[string]any)
	if !ok {
		delete(meta, "annotations")
		return
	}
	replace(annotations, corev1.LastAppliedConfigAnnotation, false)
}

// Len returns the length of a text, which may be encoded, or of other values that of their JSON.
func (v Value) Len() int {
	text, ok := v.value.(string)
	if !ok {
		data, _ := json.Marshal(v.value) // decoded from JSON
		return len(data)
	}
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && v.Encoded {
		return len(decoded)
	}
	return len(text)
}
