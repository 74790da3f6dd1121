package command_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestExamplesInOtherLanguages runs the tests in examples/ that are not in Go. They start a control plane with "ctrlplane child".
func TestExamplesInOtherLanguages(t *testing.T) {
	t.Parallel()
	for dir, command := range map[string][]string{
		"python": {"python3", "-B", "-m", "unittest"}, // -B writes nothing into the folder
		"node":   {"node", "--test"},
	} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skip(err)
			}
			cmd := exec.Command(command[0], command[1:]...)
			parent := program.Command(t)
			cmd.Dir, cmd.Env = filepath.Join("..", "..", "examples", dir), append(parent.Env, "CTRLPLANE="+parent.Path)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
