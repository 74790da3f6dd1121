//go:build !windows

package terminal_test

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// testSnapshotDiffHasColors compares what is on a terminal and in a pipe.
func testSnapshotDiffHasColors(t *testing.T, p *program.ControlPlane) {
	home := t.TempDir() // has the snapshots
	verb := func(args ...string) *exec.Cmd {
		cmd := program.Command(t, append([]string{"--data-dir", p.Dir}, args...)...)
		cmd.Env = append(cmd.Env, "HOME="+home, "XDG_STATE_HOME="+home, "TERM=xterm-256color")
		return cmd
	}
	for _, cmd := range []*exec.Cmd{verb("snapshot", "save", "base"), verb("kubectl", "create", "configmap", "added", "--from-literal=key=value")} {
		if _, stderr, code := program.Run(t, cmd); code != 0 {
			t.Fatal(stderr)
		}
	}
	plain, stderr, code := program.Run(t, verb("snapshot", "diff", "base"))
	if code != 0 || !bytes.Contains([]byte(plain), []byte("\n+  key: value\n")) || bytes.Contains([]byte(plain), []byte("\x1b")) {
		t.Fatalf("exit code %d, %s: %s", code, plain, stderr)
	}
	cmd := verb("snapshot", "diff", "base")
	screen, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	colored, err := io.ReadAll(screen)
	if err != nil && !errors.Is(err, syscall.EIO) { // the end, on Linux
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if !bytes.Contains(colored, []byte("\x1b[32m+  key: value")) {
		t.Errorf("on a terminal: %q", colored)
	}
}
