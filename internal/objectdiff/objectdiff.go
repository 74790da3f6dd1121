// Package objectdiff shows what a write has changed as a unified diff.
package objectdiff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/internal/yamltext"
)

// noObjectName is the name of an object that does not exist.
const noObjectName = "/dev/null"

// Unified returns a unified diff, in YAML, of the object before and after the
// write; empty if nothing has changed or if neither is known.
func Unified(s *control.SteppedWrite) (string, error) {
	before, from, err := yamlLines(s, s.Before)
	if err != nil {
		return "", err
	}
	after, to, err := yamlLines(s, s.After)
	if err != nil {
		return "", err
	}
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: before, B: after, FromFile: from, ToFile: to, Context: 3,
	})
}

// yamlLines returns one version of the object as lines of YAML, and its name.
func yamlLines(s *control.SteppedWrite, object json.RawMessage) (lines []string, name string, err error) {
	if len(object) == 0 {
		return nil, noObjectName, nil
	}
	var header struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(object, &header); err != nil {
		return nil, "", fmt.Errorf("diff of %s: %w", s.Object, err)
	}
	text, err := yamltext.FromJSON(object)
	if err != nil {
		return nil, "", fmt.Errorf("diff of %s: %w", s.Object, err)
	}
	return slices.Collect(strings.Lines(string(text))), words.OneLine(fmt.Sprintf("%s (version %s)", s.Object, header.Metadata.ResourceVersion)), nil
}
