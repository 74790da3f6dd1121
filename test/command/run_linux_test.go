package command_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestRunKilled kills ctrlplane while its command runs.
func TestRunKilled(t *testing.T) {
	t.Parallel()
	r := startRun(t, minimal("--", "sh", "-c", "echo $$; exec sleep 600")...)
	pid := strings.TrimSpace(r.readLine(t))
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-r.ended
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(program.Timeout)
	for {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") { // a zombie without a parent that waits for it
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the command is still running %v after ctrlplane was killed: %s", program.Timeout, stat)
		}
	}
}
