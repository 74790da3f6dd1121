//go:build unix

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestRunSettlesWithoutNodes has a Pod that upstream's scheduler tries again and again.
func TestRunSettlesWithoutNodes(t *testing.T) {
	t.Parallel()
	cmd := newRunCommand(t, "--nodes=0", "--settle", "-f", "pod.yaml", "--", "true")
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: alone}, spec: {containers: [{name: c, image: c}]}}"
	if err := os.WriteFile(filepath.Join(cmd.Dir, "pod.yaml"), []byte(pod), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := program.Run(t, cmd)
	if code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	requireText(t, stderr, "Pod default/alone: InProgress: unschedulable: no nodes available to schedule pods", "settled, 1 of 1 object is not healthy")
}

// TestRunLimitsExcludeTheStart has a limit, which lets the start settle before the command. That
// --no-hot-loop does not is in TestRunWithoutJobSummary.
func TestRunLimitsExcludeTheStart(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"--max-conflicts=1000", "--max-failed-syncs=1000"} {
		_, stderr, code := program.Run(t, newRunCommand(t, limit, "--timings", "--", "true"))
		if code != 0 || !strings.Contains(stderr, "settling") {
			t.Errorf("%s: exit code %d: %s", limit, code, stderr)
		}
	}
}
