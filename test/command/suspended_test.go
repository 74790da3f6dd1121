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

// testWaitForSuspended uses a control plane whose process is stopped, and lets it continue.
func testWaitForSuspended(t *testing.T, p *program.ControlPlane) {
	program.Signal(t, p.Cmd, syscall.SIGSTOP)
	defer func() {
		if err := p.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}()
	if runtime.GOOS != "linux" {
		for _, what := range []string{"settled", "pod/x"} {
			program.RequireFailure(t, program.Command(t, "--data-dir", p.Dir, "wait", what, "--timeout", "1s"), 1,
				"no answer from the API server: timed out after 1s: the control plane is suspended or overloaded: see ")
		}
		return
	}
	if list := program.MustRun(t, p.Dir, "list"); !strings.Contains(list, " suspended ") {
		t.Errorf("list: %s", list)
	}
	program.RequireFailure(t, program.Command(t, "delete", "--data-dir", p.Dir), 1, "is running, nothing was deleted")
	why := fmt.Sprintf("ctrlplane: the process of the control plane is suspended: continue it with \"fg\" in its shell, or with \"kill -CONT %d\"\n", p.Cmd.Process.Pid)
	for _, args := range []string{"status", "top --ui plain", "wait settled", "wait pod/x", "controllers pause deployment", "kubectl get namespaces"} {
		_, stderr, code := program.Run(t, program.Command(t, append([]string{"--data-dir", p.Dir}, strings.Fields(args)...)...))
		if code != 1 || stderr != why { // not after a request that has timed out
			t.Errorf("%s: exit code %d, %s want %s", args, code, stderr, why)
		}
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
