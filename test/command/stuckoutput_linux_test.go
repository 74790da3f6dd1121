package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestStopWhileOutputIsStuck stops a control plane whose output is not read.
func TestStopWhileOutputIsStuck(t *testing.T) {
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
				pid, err := os.ReadFile(filepath.Join(r.cmd.Dir, "pid"))
				if err != nil {
					t.Fatal(err)
				}
				awaitTrue(t, "end of the command", func() bool { return !processAlive(t, strings.TrimSpace(string(pid))) })
			}
			r.sendSignal(t, syscall.SIGINT)
			r.requireExit(t, 130)
			if tt.flags[0] == "--report" && !strings.Contains(r.stderr.String(), "the end of what the command printed is missing") {
				t.Errorf("it does not say that output is missing: %s", &r.stderr)
			}
		})
	}
}
