//go:build unix

package action_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// TestReleaseNotices compares the licences that a release contains with what Go says of the program.
func TestReleaseNotices(t *testing.T) {
	newRelease(t)
	text := testutil.ReadFile(t, filepath.Join(root, "bin", "packaging", "THIRD_PARTY_NOTICES"))
	for _, want := range []string{
		"\nGo: LICENSE\n", "Copyright 2009 The Go Authors", "\ndagre: dagre.LICENSE.txt\n", "Chris Pettitt",
		"\ngithub.com/cyphar/filepath-securejoin ", "Mozilla Public License Version 2.0", ": NOTICE\n",
		"\ngithub.com/Microsoft/go-winio ", // of the program for Windows
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Module", "./cmd/ctrlplane")
	cmd.Dir = root
	list, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := 0
	for decoder := json.NewDecoder(strings.NewReader(string(list))); decoder.More(); packages++ {
		var p struct {
			Module *struct{ Path, Version string }
		}
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if m := p.Module; m != nil && m.Version != "" && !strings.Contains(text, "\n"+m.Path+" "+m.Version+": ") {
			t.Errorf("no licence of %s %s", m.Path, m.Version)
		}
	}
	if packages < 1000 {
		t.Errorf("%d packages: is the list read?", packages)
	}
}
