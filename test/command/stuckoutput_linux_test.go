package command_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestStopWhileOutputIsStuck stops a control plane whose output is not read.
func TestStopWhileOutputIsStuck(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := program.Command(t, "up", "--ui", "json", "--data-dir", dir)
	cmd.Stdout = in
	p := program.Start(t, cmd, dir)
	in.Close()
	p.Await(t, "ready", func() bool {
		client, err := program.NewClient(dir)
		return err == nil && client.RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error() == nil
	})
	p.Await(t, "blocked on its output", func() bool { return isFull(out) })
	p.Stop(t, syscall.SIGTERM)
	if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d: %s", code, p.Stderr)
	}
}

// isFull reports whether a pipe that is not read has no room left.
func isFull(pipe *os.File) bool {
	unread, err := unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ)
	return err == nil && unread > 60<<10 // of 64 KiB
}

// TestRunEndsWhileItsOutputIsStuck interrupts runs whose output is passed on and not read, once.
func TestRunEndsWhileItsOutputIsStuck(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		flags []string
		bytes int // that the command prints: a pipe holds 64 KiB
	}{
		"the command has exited":  {[]string{"--report", "out"}, 100_000},
		"the command still runs":  {[]string{"--report", "out"}, 1_000_000},
		"two versions, which run": {[]string{"--kubernetes", "1.36,1.37"}, 1_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := fmt.Sprintf("echo $$ >pid; yes | head -c %d", tt.bytes)
			r := startRun(t, append(tt.flags, "--", "sh", "-c", script)...)
			awaitTrue(t, "full pipe", func() bool { return isFull(r.out) })
			if tt.bytes < 2*64<<10 {
				r.awaitCommandEnd(t)
			}
			r.sendSignal(t, syscall.SIGINT)
			r.requireExit(t, 130)
			if tt.flags[0] == "--report" && !strings.Contains(r.stderr.String(), "the end of what the command printed is missing") {
				t.Errorf("it does not say that output is missing: %s", &r.stderr)
			}
		})
	}
}

// TestRunPassesOnAllToASlowReader begins to read after the time for which the output of processes
// is read that outlive the command: the clock is not to be too short, and may be too long.
func TestRunPassesOnAllToASlowReader(t *testing.T) {
	t.Parallel()
	const bytes = 150_000
	r := startRun(t, "--report", "out", "--", "sh", "-c", fmt.Sprintf("echo $$ >pid; yes | head -c %d", bytes))
	awaitTrue(t, "full pipe", func() bool { return isFull(r.out) })
	r.awaitCommandEnd(t)
	timer := time.NewTimer(2500 * time.Millisecond)
	<-timer.C
	if got, err := io.ReadAll(r.stdout); len(got) != bytes || err != nil {
		t.Errorf("read %d of %d bytes, %v", len(got), bytes, err)
	}
	r.requireExit(t, 0)
}

// awaitCommandEnd returns when the process has exited whose PID is in the file pid.
func (r *runProcess) awaitCommandEnd(t *testing.T) {
	t.Helper()
	pid, err := os.ReadFile(filepath.Join(r.cmd.Dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	awaitTrue(t, "end of the command", func() bool { return !processAlive(t, strings.TrimSpace(string(pid))) })
}
