//go:build unix

package command_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestSecondSignalKillsTheCommand sends two signals that the command ignores.
func TestSecondSignalKillsTheCommand(t *testing.T) {
	t.Parallel()
	r := startRun(t, "--report=out", "--nodes=0", "--", "sh", "-c", "trap '' INT TERM; echo $$; while :; do sleep 0.1; done")
	pid := r.readLine(t)
	r.sendSignal(t, syscall.SIGINT)
	r.sendSignal(t, syscall.SIGTERM)
	r.requireExit(t, 130, 143) // the signals arrive in any order
	requireLastLine(t, r.stderr.String(), "the command was killed: it has ignored two signals")
	if processAlive(t, pid) {
		t.Error("the command still runs")
	}
	readReport(t, filepath.Join(r.cmd.Dir, "out"))
}

// TestSecondSignalAfterTheTimeout sends two signals to a command that ignores the end of its time,
// too: the exit code is that of the time.
func TestSecondSignalAfterTheTimeout(t *testing.T) {
	t.Parallel()
	r := startRun(t, "--timeout=3s", "--nodes=0", "--", "sh", "-c", "trap 'echo 2' TERM; trap '' INT HUP; echo 1; while :; do sleep 0.1; done")
	r.readLine(t)
	r.readLine(t) // upon SIGTERM
	r.sendSignal(t, syscall.SIGINT)
	r.sendSignal(t, syscall.SIGHUP)
	r.requireExit(t, 124)
	requireLastLine(t, r.stderr.String(), "the command was terminated after 3s")
}

// TestCommandCannotStopItsRun has a command that stops and deletes its control plane.
func TestCommandCannotStopItsRun(t *testing.T) {
	t.Parallel()
	cmd := newRunCommand(t, "--nodes=0", "--", "sh", "-c", `"$0" down; echo $?; "$0" delete --force run; echo $?`, program.Path())
	stdout, stderr, code := program.Run(t, cmd)
	if code != 0 || stdout != "1\n1\n" {
		t.Errorf("exit code %d, stdout %q: %s", code, stdout, stderr)
	}
	requireText(t, stderr, "belongs to the run or test that has started this command")
}
