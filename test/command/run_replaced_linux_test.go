package command_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestRunVersionsOfReplacedProgram checks that runs with several versions are all of one program, although an
// upgrade replaces its file meanwhile.
func TestRunVersionsOfReplacedProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "ctrlplane")
	if out, err := exec.CommandContext(t.Context(), "cp", program.Path(), path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	upgrade := fmt.Sprintf(`cd %s && printf '#!/bin/sh\nexit 9\n' > new && chmod +x new && mv new ctrlplane`, dir)
	cmd := newRunCommand(t, minimal("--jobs", "1", "--kubernetes", "1.36,1.37", "--", "sh", "-c", upgrade)...)
	cmd.Path, cmd.Args[0] = path, path
	_, stderr, code := program.Run(t, cmd)
	if code != 0 || strings.Count(stderr, " passed ") != 2 {
		t.Errorf("exit code %d, want 0: %s", code, stderr)
	}
}
