package objects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/ctrlplane/ctrlplane/internal/words"
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
	return diffLines(before, after, fromFile, toFile)
}

// DiffText returns a unified diff of two texts; empty if they are the same.
func DiffText(before, after, from, to string) (string, error) {
	return diffLines(slices.Collect(strings.Lines(before)), slices.Collect(strings.Lines(after)), from, to)
}

// diffLines puts from and to on one line each: the name of a role may have line feeds, with which
// it would look like other differences.
func diffLines(before, after []string, from, to string) (string, error) {
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: before, B: after, FromFile: words.OneLine(from), ToFile: words.OneLine(to), Context: 3})
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
