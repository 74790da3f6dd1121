package command_test

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
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
	testutil.Await(t, "the command ends", func() bool { return hasEnded(t, pid) })
}
