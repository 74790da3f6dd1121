package control

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"sigs.k8s.io/yaml"
)

// noObjectName is how a diff calls what is not there.
const noObjectName = "/dev/null"

// Diff is a unified diff of what the write has changed, in YAML; empty if it has
// changed nothing, or if nothing is known of that.
func (s *SteppedWrite) Diff() (string, error) {
	before, from, err := s.yamlLines(s.Before)
	if err != nil {
		return "", err
	}
	after, to, err := s.yamlLines(s.After)
	if err != nil {
		return "", err
	}
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: before, B: after, FromFile: from, ToFile: to, Context: 3,
	})
}

// yamlLines is the object at one time, as lines of YAML and by name.
func (s *SteppedWrite) yamlLines(object json.RawMessage) (lines []string, name string, err error) {
	if len(object) == 0 {
		return nil, noObjectName, nil
	}
	var has struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(object, &has); err != nil {
		return nil, "", fmt.Errorf("control: %s: %w", s.Object, err)
	}
	text, err := yaml.JSONToYAML(object)
	if err != nil {
		return nil, "", fmt.Errorf("control: %s: %w", s.Object, err)
	}
	return slices.Collect(strings.Lines(string(text))), fmt.Sprintf("%s (version %s)", s.Object, has.Metadata.ResourceVersion), nil
}
