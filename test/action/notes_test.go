//go:build unix

package action_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

const changelog = `# Changelog

## Unreleased

- next

## v0.2.0 (1 May)

### Added

- this, see [the page](docs/a.md#b) and [upstream](https://example.com/c)

## v0.1.0
`

// TestNotes checks the notes of a release: those of the version, or an error if it has none.
func TestNotes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "CHANGELOG.md")
	writeFile(t, file, changelog)
	for version, want := range map[string]string{
		"v0.2.0":      "\n### Added\n\n- this, see [the page](https://github.com/ctrlplane/ctrlplane/blob/v0.2.0/docs/a.md#b) and [upstream](https://example.com/c)\n",
		"v0.3.0-rc.1": "\n- next\n",
		"v0.1.0":      "",
		"v0.2":        "",
	} {
		out, err := exec.CommandContext(t.Context(), filepath.Join(root, ".ci", "notes"), version, file).Output()
		if got := string(out); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: got %q, %v", version, got, err)
		}
	}
}
