//go:build unix

package command_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestWaitForSuspended waits for a control plane whose process is stopped.
func TestWaitForSuspended(t *testing.T) {
	t.Parallel()
	p := program.Up(t, filepath.Join(t.TempDir(), "data"), "--nodes", "0")
	if err := p.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"settled", "pod/x"} {
		program.RequireFailure(t, program.Command(t, "--data-dir", p.Dir, "wait", what, "--timeout", "1s"), 1,
			"no answer from the API server: timed out after 1s: the control plane is suspended or overloaded: see ")
	}
}
