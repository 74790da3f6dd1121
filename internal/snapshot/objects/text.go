package objects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/ctrlplane/ctrlplane/internal/yamltext"
)

// devNull is the file name of a side of a diff that does not exist.
const devNull = "/dev/null"

// UnifiedDiff returns the difference as a unified diff of YAML; from and to name the two
// states.
func (d Difference) UnifiedDiff(from, to string) (string, error) {
	before, fromFile, err := d.renderSide(d.Before, from)
	if err != nil {
		return "", err
	}
	after, toFile, err := d.renderSide(d.After, to)
	if err != nil {
		return "", err
	}
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: before, B: after, FromFile: fromFile, ToFile: toFile, Context: 3})
}

// DiffText returns a unified diff of two texts; empty if they are the same.
func DiffText(before, after, from, to string) (string, error) {
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: slices.Collect(strings.Lines(before)), B: slices.Collect(strings.Lines(after)), FromFile: from, ToFile: to, Context: 3,
	})
}

func (d Difference) renderSide(fields map[string]any, where string) (lines []string, name string, err error) {
	if fields == nil {
		return nil, devNull, nil
	}
	text, err := yamltext.Marshal(fields)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", d, err)
	}
	return slices.Collect(strings.Lines(string(text))), fmt.Sprintf("%s (%s)", d, where), nil
}
