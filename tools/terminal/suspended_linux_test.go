package terminal_test

import (
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestDownEndsASuspendedView stops a control plane whose view is suspended under a shell with job control: it
// continues in the background, from where it restores the terminal.
func TestDownEndsASuspendedView(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	up := program.Command(t, append([]string{"up", "--data-dir", dir}, minimal()...)...)
	shell := exec.Command("sh", append([]string{"-mc", `"$@"; echo in the shell; read -r _`, "sh"}, up.Args...)...)
	shell.Dir, shell.Env = up.Dir, append(up.Env, "TERM=xterm-256color")
	screen, err := pty.StartWithSize(shell, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	stop := time.AfterFunc(3*program.Timeout, func() { _ = shell.Process.Kill() }) // later than down gives up: its end ends the view
	defer stop.Stop()
	awaitOutput(screen, []byte("\x1b[?1049h"))
	is, err := datadir.Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if t.Failed() {
			_ = syscall.Kill(is.PID, syscall.SIGKILL)
		}
	}()
	if err := syscall.Kill(is.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitOutput(screen, []byte("in the shell"))
	go func() { _, _ = io.Copy(io.Discard, screen) }() // until it is closed
	if out := program.MustRun(t, dir, "down"); !strings.Contains(out, " stopped") {
		t.Errorf("down: %s", out)
	}
	if _, err := screen.WriteString("\n"); err != nil {
		t.Error(err)
	}
	_ = shell.Wait()
}
