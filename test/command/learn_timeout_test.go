package command_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestLearnUnderTimeout checks that a lesson under timeout(1) cleans up: timeout sends its
// signal to the process and then to the whole group, which includes the lesson's commands.
func TestLearnUnderTimeout(t *testing.T) {
	timeout, err := exec.LookPath("timeout")
	if err != nil {
		t.Skip(err)
	}
	p := program.Up(t, filepath.Join(t.TempDir(), "data"))
	lesson := program.WriteLesson(t, "## One\n```run\nrun: kubectl create configmap note && sleep 60\n```\n")
	cmd := program.Command(t, "--data-dir", p.Dir, "learn", "--auto", lesson)
	cmd.Args = append([]string{timeout, "5", program.Path()}, cmd.Args[1:]...)
	cmd.Path = timeout
	program.RequireFailure(t, cmd, 124)
	program.RequireLessonCleanedUp(t, p)
	if left, err := filepath.Glob(filepath.Join(cmd.Dir, "ctrlplane-learn-*")); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
