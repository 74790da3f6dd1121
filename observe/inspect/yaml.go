package inspect

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/secretmask"
	"github.com/ctrlplane/ctrlplane/internal/yamltext"
)

// maxText is the maximal length of the YAML.
const maxText = 256 << 10

// renderYAML returns u as YAML without managed fields and with the values of Secrets
// masked. It changes u.
func renderYAML(u *unstructured.Unstructured, secret bool) (string, error) {
	unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	if secret {
		secretmask.Mask(u.Object)
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
