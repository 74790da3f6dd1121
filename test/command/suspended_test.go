//go:build unix

package command_test

import (
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// testWaitForSuspended waits for a control plane whose process is stopped, and lets it continue.
func testWaitForSuspended(t *testing.T, p *program.ControlPlane) {
	program.Signal(t, p.Cmd, syscall.SIGSTOP)
	defer func() {
		if err := p.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}()
	for _, what := range []string{"settled", "pod/x"} {
		program.RequireFailure(t, program.Command(t, "--data-dir", p.Dir, "wait", what, "--timeout", "1s"), 1,
			"no answer from the API server: timed out after 1s: the control plane is suspended or overloaded: see ")
	}
}
