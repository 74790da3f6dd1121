package command_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestLearnUnderTimeout checks that a lesson under timeout(1) cleans up: timeout sends its
// signal to the process and then to the whole group.
func TestLearnUnderTimeout(t *testing.T) {
	timeout, err := exec.LookPath("timeout")
	if err != nil {
		t.Skip(err)
	}
	p := startUp(t, filepath.Join(t.TempDir(), "data"))
	lesson := writeLesson(t, "## One\n```run\nrun: kubectl create configmap note && sleep 60\n```\n")
	cmd := newCommand(t, "--data-dir", p.dir, "learn", "--auto", lesson)
	cmd.Args = append([]string{timeout, "5", programPath}, cmd.Args[1:]...)
	cmd.Path = timeout
	requireFailure(t, cmd, 124, "interrupted")
	requireLessonCleanedUp(t, p)
	if left, err := filepath.Glob(filepath.Join(cmd.Dir, "ctrlplane-learn-*")); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
