package report

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/internal/yamltext"
	"github.com/ctrlplane/ctrlplane/ui"
)

var secretKind = schema.GroupKind{Kind: "Secret"}

// writeObjects writes the objects as YAML documents. incomplete says which are
// missing.
func writeObjects(w io.Writer, objects []unstructured.Unstructured, incomplete error) error {
	if _, err := fmt.Fprintf(w, "# %s. Secret values are masked, managed fields are omitted.\n", ui.CountNoun(len(objects), "object")); err != nil {
		return err
	}
	if incomplete != nil {
		for line := range strings.SplitSeq(incomplete.Error(), "\n") {
			if _, err := fmt.Fprintf(w, "# Incomplete: %s\n", words.OneLine(line)); err != nil {
				return err
			}
		}
	}
	for _, u := range objects {
		data, err := yamltext.Marshal(redactObject(u).Object)
		if err != nil {
			return fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
		}
		if _, err := fmt.Fprintf(w, "---\n%s", data); err != nil {
			return err
		}
	}
	return nil
}

// redactObject returns a copy without managed fields and without Secret values.
func redactObject(u unstructured.Unstructured) *unstructured.Unstructured {
	c := u.DeepCopy()
	unstructured.RemoveNestedField(c.Object, "metadata", "managedFields")
	if c.GroupVersionKind().GroupKind() == secretKind {
		maskSecret(c)
	}
	return c
}

// maskSecret replaces the values of a Secret by their length. The result is a valid
// Secret.
func maskSecret(u *unstructured.Unstructured) {
	delete(u.Object, "stringData") // write-only: responses do not contain it
	values, ok := u.Object["data"].(map[string]any)
	if !ok {
		delete(u.Object, "data")
	}
	for key, value := range values {
		text, _ := value.(string)
		n := len(text)
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			n = len(decoded)
		}
		values[key] = base64.StdEncoding.EncodeToString([]byte(maskedValue(n)))
	}
	// This annotation repeats the values.
	annotations := u.GetAnnotations()
	if applied, ok := annotations[corev1.LastAppliedConfigAnnotation]; ok {
		annotations[corev1.LastAppliedConfigAnnotation] = maskedValue(len(applied))
		u.SetAnnotations(annotations)
	}
}

func maskedValue(n int) string { return fmt.Sprintf("*** (%s)", ui.CountNoun(n, "byte")) }
