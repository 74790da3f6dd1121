//go:build unix

package command_test

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/endsignals"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// sendSeveral sends SIGTERM and, soon after it, SIGINT and more of both: timeout(1) and others send two, of which the second
// arrives after the process has seen the first, or before. It ends early with the process.
func sendSeveral(process *os.Process) {
	tick := time.NewTicker(endsignals.RepeatTime / 100)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < endsignals.RepeatTime/2; <-tick.C {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			if process.Signal(sig) != nil {
				return
			}
		}
	}
}

// TestSignalsInARow has control planes end cleanly although more signals follow the first one at once.
func TestSignalsInARow(t *testing.T) {
	t.Parallel()
	t.Run("up", func(t *testing.T) {
		t.Parallel()
		p := startFollower(t, "", append([]string{"up", "--ephemeral", "--ui", "plain"}, minimal()...)...)
		p.awaitText(t, "is ready")
		sendSeveral(p.Cmd.Process)
		<-p.Done
		if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("exit code %d: %s", code, p.Stderr)
		}
		requireNothingLeft(t, p.Cmd)
	})
	t.Run("run while starting", func(t *testing.T) {
		t.Parallel()
		r := startHangingRun(t, "--", "true")
		sendSeveral(r.cmd.Process)
		r.requireExit(t, 130, 143) // they arrive in any order
	})
	t.Run("run", func(t *testing.T) { // the command receives both
		t.Parallel()
		r := startRun(t, minimal("--", "sh", "-c", "trap 'echo TERM' TERM; trap 'echo INT' INT; echo begun; until test -e go; do sleep 0.1; done; exit 3")...)
		r.readLine(t)
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			r.sendSignal(t, sig)
		}
		received := []string{r.readLine(t), r.readLine(t)}
		if slices.Sort(received); !slices.Equal(received, []string{"INT", "TERM"}) {
			t.Errorf("the command has received %q", received)
		}
		testutil.WriteFile(t, filepath.Join(r.cmd.Dir, "go"), "")
		r.requireExit(t, 3)
	})
}
