// Package secretmask hides the values of Secrets before they are shown.
package secretmask

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Mask replaces each value in a decoded Secret, or a patch of one, by its length, whatever its type:
// what is shown need not be valid. A null stays: in a patch it removes a value. Fields of Secrets that
// are of another type than theirs are removed.
func Mask(secret map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		values, ok := secret[field].(map[string]any)
		if !ok && secret[field] != nil {
			delete(secret, field)
		}
		for name, value := range values {
			values[name] = masked(value, field == "data")
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
	if applied, ok := annotations[corev1.LastAppliedConfigAnnotation]; ok {
		annotations[corev1.LastAppliedConfigAnnotation] = masked(applied, false)
	}
}

// masked returns what is shown instead of a value: the length of a text, which may be encoded, or of
// other values that of their JSON.
func masked(value any, encoded bool) any {
	if value == nil {
		return nil
	}
	text, ok := value.(string)
	if !ok {
		data, err := json.Marshal(value)
		if err != nil {
			return "***"
		}
		return fmt.Sprintf("*** (%d bytes)", len(data))
	}
	n := len(text)
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && encoded {
		n = len(decoded)
	}
	return fmt.Sprintf("*** (%d bytes)", n)
}
