//go:build unix

package command_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// expiringJob is a Job that is deleted as soon as it has finished.
func expiringJob(name, script string) string {
	return `{apiVersion: batch/v1, kind: Job, metadata: {name: ` + name + `}, spec: {ttlSecondsAfterFinished: 0, backoffLimit: 0, template: {spec: {restartPolicy: Never, ` +
		`containers: [{name: c, image: busybox, command: [sh, -c, ` + script + `]}]}}}}`
}

// TestExpiredJobs has Jobs whose time to live has deleted them: one that has failed is not healthy, of -f or not, and one that
// is complete is, also for a wait that begins later.
func TestExpiredJobs(t *testing.T) {
	t.Parallel()
	const script = `set -e
"$0" kubectl create -f other.yaml
"$0" wait job/works --timeout 5m
"$0" kubectl wait job/works job/fails job/other --for=delete --timeout=-1s
"$0" wait -f works.yaml --timeout 5m
! "$0" wait job/fails --timeout 5m`
	cmd := newRunCommand(t, "--settle", longTimeout, "--healthy", "--report", "out", "-f", "works.yaml", "-f", "fails.yaml", "--", "sh", "-c", script, program.Path())
	testutil.WriteFiles(t, cmd.Dir, map[string]string{
		"works.yaml": expiringJob("works", "echo done"), "fails.yaml": expiringJob("fails", "exit 3"), "other.yaml": expiringJob("other", "exit 4"),
	})
	cmd.Env = withoutCIEnv(cmd.Env)
	_, stderr, code := program.Run(t, cmd)
	if code != 123 || strings.Contains(stderr, "no longer exists") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	const since = "; ttl-after-finished-controller has deleted it since"
	requireText(t, stderr, "not healthy: Job default/fails: Failed: ", "not healthy: Job default/other: Failed: ", since, "BackoffLimitExceeded", "--healthy: 2 of 3 objects are not healthy",
		"Job default/works  Current", "1 of 1 object not healthy: Job default/fails", "its Pods are deleted, with their logs, by ttl-after-finished-controller")
	files := readReport(t, filepath.Join(cmd.Dir, "out"))
	requireText(t, files["junit.xml"], `<testcase name="Job default/works"`, `<testcase name="Job default/fails"`, `<testcase name="Job default/other"`, since)
	requireText(t, files["report.html"], since)
}
