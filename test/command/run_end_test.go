//go:build unix

package command_test

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestSecondSignalKillsTheCommand sends two signals that the command ignores.
func TestSecondSignalKillsTheCommand(t *testing.T) {
	t.Parallel()
	r := startRun(t, minimal("--report=out", "--", "sh", "-c", "trap 'echo seen' INT; trap '' TERM; echo $$; while :; do sleep 0.1; done")...)
	pid := r.readLine(t)
	r.sendSignal(t, syscall.SIGINT)
	r.readLine(t)
	r.sendSecond(t, syscall.SIGTERM)
	r.requireExit(t, 143)
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
	r, timeout := startRunBeyondTimeout(t, "trap 'echo seen' TERM HUP; trap '' INT; echo 1; while :; do sleep 0.1; done")
	r.readLine(t)                  // upon SIGTERM
	r.trySignal(t, syscall.SIGHUP) // it may have ended after 10 s
	_, _ = r.stdout.ReadString('\n')
	r.sendSecond(t, syscall.SIGINT)
	r.requireExit(t, 124)
	requireLastLine(t, r.stderr.String(), "the command was terminated after "+timeout.String())
}

// startRunBeyondTimeout starts a run with a timeout of a script that prints 1 once it handles SIGTERM, and
// returns when that was read. The time of the script counts from its start: it doubles until it is long enough.
func startRunBeyondTimeout(t *testing.T, script string) (r *runProcess, timeout time.Duration) {
	t.Helper()
	for timeout = time.Second; timeout < program.Timeout; timeout *= 2 {
		r = startRun(t, minimal("--timeout="+timeout.String(), "--", "sh", "-c", script)...)
		if line, err := r.stdout.ReadString('\n'); err == nil && line == "1\n" {
			return r, timeout
		}
	}
	t.Fatalf("the script did not print 1 within %v", timeout)
	return nil, 0
}

// When a terminal is closed, its shell sends SIGHUP as well as the kernel: the second one does not kill a
// command that is about to end.
func TestClosedTerminalLetsTheCommandEnd(t *testing.T) {
	t.Parallel()
	r := startRun(t, minimal("--", "sh", "-c", "trap 'echo 2; read go; echo finished; exit 3' HUP; echo 1; while :; do sleep 0.1; done")...)
	r.readLine(t)
	r.sendSignal(t, syscall.SIGHUP)
	r.readLine(t) // upon SIGHUP
	r.sendSignal(t, syscall.SIGHUP)
	r.stdin.Close()
	if line := r.readLine(t); line != "finished" {
		t.Errorf("got %q", line)
	}
	r.requireExit(t, 3)
}
