//go:build unix

package command_test

import (
	"os"
	"path/filepath"
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

// TestRunLimitsExcludeTheStart repeats runs in which only the start of the control plane itself
// can have conflicts: often it has one.
func TestRunLimitsExcludeTheStart(t *testing.T) {
	t.Parallel()
	for range 5 {
		if _, stderr, code := program.Run(t, newRunCommand(t, "--max-conflicts=0", "--max-failed-syncs=0", "--", "true")); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
	}
}

// TestRunTimeoutWhileSettling has a paused controller that is to delete a namespace.
func TestRunTimeoutWhileSettling(t *testing.T) {
	t.Parallel()
	r := startRun(t, "--settle", "--timeout=5s", "--report=out", "--controllers=namespace", "--nodes=0", "--no-scheduler", "--",
		"sh", "-c", `"$0" controllers pause namespace && "$0" kubectl create namespace x && "$0" kubectl delete namespace x --wait=false`, program.Path())
	r.requireExit(t, 124)
	requireLastLine(t, r.stderr.String(), "not settled: namespace-controller: timed out after 5s")
	junit := readReport(t, filepath.Join(r.cmd.Dir, "out"))["junit.xml"]
	requireText(t, junit, `<testsuite name="command" tests="1" failures="0"`, `<testcase name="--settle"`, "not settled: namespace-controller")
}
