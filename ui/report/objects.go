package report

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/secretmask"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/internal/yamltext"
	"github.com/ctrlplane/ctrlplane/ui"
)

var secretKind = schema.GroupKind{Kind: "Secret"}

// writeObjects writes the objects as YAML documents. incomplete says which are
// missing.
func writeObjects(w io.Writer, objects []unstructured.Unstructured, incomplete error) error {
	if len(objects) == 0 && incomplete == nil {
		_, err := io.WriteString(w, "# The objects were not read.\n")
		return err
	}
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
		delete(c.Object, "stringData") // write-only: responses do not contain it
		secretmask.Replace(c.Object, maskedValue)
	}
	return c
}

// maskedValue returns the length of a value in the form that makes the Secret valid.
func maskedValue(v secretmask.Value) string {
	masked := fmt.Sprintf("*** (%s)", ui.CountNoun(v.Len(), "byte"))
	if v.Encoded {
		return base64.StdEncoding.EncodeToString([]byte(masked))
	}
	return masked
}
