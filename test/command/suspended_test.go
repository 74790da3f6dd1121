//go:build unix

package command_test

import (
	"fmt"
	"runtime"
	"strings"
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
	why := "the control plane is suspended or overloaded: see "
	if runtime.GOOS == "linux" {
		why = fmt.Sprintf(`the process of the control plane is suspended: continue it with "fg" in its shell, or with "kill -CONT %d"`, p.Cmd.Process.Pid)
		if list := program.MustRun(t, p.Dir, "list"); !strings.Contains(list, " suspended ") {
			t.Errorf("list: %s", list)
		}
	}
	for _, what := range []string{"settled", "pod/x"} {
		program.RequireFailure(t, program.Command(t, "--data-dir", p.Dir, "wait", what, "--timeout", "1s"), 1,
			"no answer from the API server: timed out after 1s: "+why)
	}
}

// requireSuspendedEnds stops a control plane whose process is suspended, as by Ctrl-Z.
func requireSuspendedEnds(t *testing.T, p *program.ControlPlane) {
	t.Helper()
	program.Signal(t, p.Cmd, syscall.SIGSTOP)
	if out := program.MustRun(t, p.Dir, "down"); !strings.Contains(out, " stopped") {
		t.Errorf("down: %s", out)
	}
	<-p.Done
}
