//go:build unix

package ctrlplanetest

import (
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

// TestStopWithHeldOutput stops a program whose output is held open by a process that it has started.
func TestStopWithHeldOutput(t *testing.T) {
	t.Parallel()
	for code, clean := range map[string]bool{"0": true, "3": false} {
		p, err := launch(exec.Command("sh", "-c", "sleep 600 & echo $!; read line; exit "+code))
		if err != nil {
			t.Fatal(err)
		}
		grandchild, err := strconv.Atoi(string(<-p.first.line))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); (err == nil) != clean {
			t.Errorf("exit code %s: %v", code, err)
		}
		if err := syscall.Kill(grandchild, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
}
