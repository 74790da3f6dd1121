//go:build unix

package command_test

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// ignoreHangup makes a command start with SIGHUP ignored, as nohup does.
func ignoreHangup(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args = append([]string{sh, "-c", `trap '' HUP; exec "$@"`, sh, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = sh
}

// TestNohupUp has a control plane that SIGHUP does not stop, but SIGTERM does.
func TestNohupUp(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	cmd := program.Command(t, append([]string{"up", "--ui", "none", "--data-dir", dir}, minimal()...)...)
	ignoreHangup(t, cmd)
	p := program.Start(t, cmd, dir)
	p.AwaitReady(t)
	program.Signal(t, p.Cmd, syscall.SIGHUP)
	program.MustRun(t, dir, "status")
	t.Run("errors of the server are logged", func(t *testing.T) { testServerErrorsAreLogged(t, p) })
	requireCleanStop(t, p, syscall.SIGTERM)
}

// TestNohupRun checks that the command of a run ignores SIGHUP as ctrlplane itself does.
func TestNohupRun(t *testing.T) {
	t.Parallel()
	cmd := newRunCommand(t, minimal("--", "sh", "-c", "kill -HUP $PPID $$; echo survived")...)
	ignoreHangup(t, cmd)
	stdout, stderr, code := program.Run(t, cmd)
	if stdout != "survived\n" || stderr != "" || code != 0 {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}
