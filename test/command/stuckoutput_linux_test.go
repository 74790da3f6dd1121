package command_test

import (
	"os"
	"path/filepath"
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
	p.Await(t, "blocked on its output", func() bool {
		unread, err := unix.IoctlGetInt(int(out.Fd()), unix.TIOCINQ)
		return err == nil && unread > 60<<10 // of 64 KiB
	})
	p.Stop(t, syscall.SIGTERM)
	if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d: %s", code, p.Stderr)
	}
}
