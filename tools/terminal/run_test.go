//go:build unix

package terminal_test

import (
	"bufio"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestRunForwardsCtrlCOnce presses Ctrl-C: the command receives one signal and can
// still read from the terminal.
func TestRunForwardsCtrlCOnce(t *testing.T) {
	t.Parallel()
	cmd := program.Command(t, append([]string{"run"}, append(minimal(), "--", "sh", "-c", `trap 'echo heard' INT; echo ready; while :; do read -r l && break; done; sleep 0.3; exit 4`)...)...)
	screen, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	stop := time.AfterFunc(program.Timeout, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	heard := 0
	for lines := bufio.NewScanner(screen); lines.Scan(); {
		switch line := lines.Text(); {
		case strings.Contains(line, "ready"):
			if _, err := screen.WriteString("\x03line\n"); err != nil {
				t.Error(err)
			}
		case strings.Contains(line, "heard"):
			heard++
		}
	}
	_ = cmd.Wait() // its ProcessState has the result
	if code := cmd.ProcessState.ExitCode(); code != 4 || heard != 1 {
		t.Errorf("exit code %d, heard %d times", code, heard)
	}
	if left, err := filepath.Glob(filepath.Join(cmd.Dir, "ctrlplane-*")); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
