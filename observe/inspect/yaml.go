package inspect

import (
	"encoding/base64"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/yamltext"
)

// maxText is the maximal length of the YAML.
const maxText = 256 << 10

// renderYAML returns u as YAML without managed fields and with the values of Secrets
// masked. It changes u.
func renderYAML(u *unstructured.Unstructured, secret bool) (string, error) {
	unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	if secret {
		maskSecret(u)
	}
	data, err := yamltext.Marshal(u.Object)
	if err != nil {
		return "", fmt.Errorf("encode as YAML: %w", err)
	}
	if len(data) <= maxText {
		return string(data), nil
	}
	shown := strings.ToValidUTF8(string(data[:maxText]), "") // the cut may be within a rune
	return fmt.Sprintf("%s\n# The first %d of %d KiB.\n", strings.TrimSuffix(shown, "\n"), maxText>>10, len(data)>>10), nil
}

// maskSecret replaces the values of a Secret with their lengths.
func maskSecret(u *unstructured.Unstructured) {
	for _, field := range []string{"data", "stringData"} {
		values, ok := u.Object[field].(map[string]any)
		if !ok { // not a map: remove the whole field
			delete(u.Object, field)
			continue
		}
		for key, value := range values {
			s, _ := value.(string)
			n := len(s)
			if decoded, err := base64.StdEncoding.DecodeString(s); err == nil && field == "data" {
				n = len(decoded)
			}
			values[key] = maskedLength(n)
		}
	}
	// kubectl's annotation contains the values as well.
	annotations, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "annotations")
	if m, ok := annotations.(map[string]any); ok && m[corev1.LastAppliedConfigAnnotation] != nil {
		applied, _ := m[corev1.LastAppliedConfigAnnotation].(string)
		m[corev1.LastAppliedConfigAnnotation] = maskedLength(len(applied))
	}
}

func maskedLength(n int) string { return fmt.Sprintf("*** (%d bytes)", n) }
