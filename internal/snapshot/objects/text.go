package objects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"sigs.k8s.io/yaml"
)

// nothing is how a diff calls what is not there.
const nothing = "/dev/null"

// Unified is the difference as a unified diff of YAML; from and to say where the
// two sides are.
func (d Difference) Unified(from, to string) (string, error) {
	before, fromFile, err := d.side(d.Before, from)
	if err != nil {
		return "", err
	}
	after, toFile, err := d.side(d.After, to)
	if err != nil {
		return "", err
	}
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: before, B: after, FromFile: fromFile, ToFile: toFile, Context: 3})
}

func (d Difference) side(fields map[string]any, where string) (lines []string, name string, err error) {
	if fields == nil {
		return nil, nothing, nil
	}
	text, err := yaml.Marshal(fields)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", d, err)
	}
	return slices.Collect(strings.Lines(string(text))), fmt.Sprintf("%s (%s)", d, where), nil
}
