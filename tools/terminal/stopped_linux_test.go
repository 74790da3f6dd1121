package terminal_test

import (
	"bytes"
	"io"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestStopWhileTheTerminalIsStopped stops a control plane whose terminal accepts nothing, as after
// Ctrl-S: one signal is enough.
func TestStopWhileTheTerminalIsStopped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	master, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer terminal.Close()
	if err := pty.Setsize(master, &pty.Winsize{Rows: 40, Cols: 120}); err != nil {
		t.Fatal(err)
	}
	opened, drained := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(drained)
		awaitOutput(master, []byte("\x1b[?1049h"))
		close(opened)
		_, _ = io.Copy(io.Discard, master) // until it is closed
	}()
	cmd := program.Command(t, "up", "--data-dir", dir)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout = terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p := program.Start(t, cmd, dir)
	p.Await(t, "in the live view", func() bool {
		select {
		case <-opened:
			return true
		default:
			return false
		}
	})
	if err := unix.IoctlSetInt(int(terminal.Fd()), unix.TCXONC, unix.TCOOFF); err != nil {
		t.Fatal(err)
	}
	p.Stop(t, syscall.SIGTERM)
	if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d: %s", code, p.Stderr)
	}
	terminal.Close()
	master.Close()
	<-drained
}

// awaitOutput reads until it has read a text, or an error.
func awaitOutput(r io.Reader, text []byte) {
	var seen []byte
	for part := make([]byte, 4096); !bytes.Contains(seen, text); {
		n, err := r.Read(part)
		if err != nil {
			return
		}
		seen = append(seen, part[:n]...)
	}
}
