//go:build unix

package command_test

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestSecondSignalKillsTheCommand sends two signals that the command ignores.
func TestSecondSignalKillsTheCommand(t *testing.T) {
	t.Parallel()
	r := startRun(t, minimal("--report=out", "--", "sh", "-c", "trap '' INT TERM; echo $$; while :; do sleep 0.1; done")...)
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
	r := startRun(t, "--timeout=8s", "--nodes=0", "--", "sh", "-c", "trap 'echo 2' TERM; trap '' INT HUP; echo 1; while :; do sleep 0.1; done")
	r.readLine(t)
	r.readLine(t) // upon SIGTERM
	r.sendSignal(t, syscall.SIGINT)
	r.sendSignal(t, syscall.SIGHUP)
	r.requireExit(t, 124)
	requireLastLine(t, r.stderr.String(), "the command was terminated after 8s")
}

// When a terminal is closed, its shell sends SIGHUP as well as the kernel: the second one does not kill a
// command that is about to end.
func TestClosedTerminalLetsTheCommandEnd(t *testing.T) {
	t.Parallel()
	r := startRun(t, "--nodes=0", "--", "sh", "-c", "trap 'echo 2; sleep 2; echo finished; exit' HUP; echo 1; while :; do sleep 0.1; done")
	r.readLine(t)
	r.sendSignal(t, syscall.SIGHUP)
	r.readLine(t) // upon SIGHUP
	r.sendSignal(t, syscall.SIGHUP)
	if line := r.readLine(t); line != "finished" {
		t.Errorf("got %q", line)
	}
	r.requireExit(t, 129)
}
