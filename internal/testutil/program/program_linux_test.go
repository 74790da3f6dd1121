package program

import (
	"os/exec"
	"syscall"
	"testing"
)

// A process that a command has left may hold its output: Run does not wait for its end.
func TestRunDoesNotWaitForHeldOutput(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "(sleep 20; echo late) & echo done")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, _, code := Run(t, cmd)
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if out != "done\n" || code != 0 {
		t.Errorf("exit code %d: %q", code, out)
	}
}

func TestRunLeavesOutWarningsOfASlowStart(t *testing.T) {
	const script = "echo ctrlplane: warning: the start takes long: readiness has taken 15s so far: x >&2; echo ctrlplane: warning: other >&2"
	_, stderr, _ := Run(t, exec.CommandContext(t.Context(), "/bin/sh", "-c", script))
	if want := "ctrlplane: warning: other\n"; stderr != want {
		t.Errorf("got %q, want %q", stderr, want)
	}
}

func TestRunRepeatsAnIncompleteStatus(t *testing.T) {
	defer func(before string) { path = before }(path)
	path = "/bin/sh"
	const script = "echo >>asked; test $(wc -l <asked) = 3 || { echo 'ctrlplane: cannot look for unhealthy objects: timed out after 5s' >&2; exit 1; }; echo complete"
	cmd := exec.CommandContext(t.Context(), path, "-c", script)
	cmd.Dir = t.TempDir()
	if stdout, stderr, code := Run(t, cmd); stdout != "complete\n" || stderr != "" || code != 0 {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}
