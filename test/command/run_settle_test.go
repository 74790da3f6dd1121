//go:build unix

package command_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestRunSettlesWithoutNodes has a Pod that upstream's scheduler tries again and again.
func TestRunSettlesWithoutNodes(t *testing.T) {
	t.Parallel()
	cmd := newRunCommand(t, "--nodes=0", "--settle", longTimeout, "--report", "out", "-f", "pod.yaml", "--", "true")
	cmd.Env = withoutCIEnv(cmd.Env)
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: alone}, spec: {containers: [{name: c, image: c}]}}"
	testutil.WriteFile(t, filepath.Join(cmd.Dir, "pod.yaml"), pod)
	_, stderr, code := program.Run(t, cmd)
	if code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	requireText(t, stderr, "Pod default/alone: InProgress: unschedulable: no nodes available to schedule pods", "passed in ", "; the report is ")
	if n := strings.Count(stderr, "settled, 1 of 1 object is not healthy"); n != 1 {
		t.Errorf("stderr says %d times that it is not healthy: %s", n, stderr)
	}
	junit := readReport(t, filepath.Join(cmd.Dir, "out"))["junit.xml"]
	failures := slices.DeleteFunc(junitFailures(t, junit), func(m string) bool { return m == "" })
	if len(failures) != 1 || !strings.Contains(failures[0], "no nodes available") {
		t.Errorf("junit.xml has the failures %q", failures)
	}
}

// TestRunLimitsExcludeTheStart has a limit, which lets the start settle before the command. That
// --no-hot-loop does not is in TestRunWithoutJobSummary.
func TestRunLimitsExcludeTheStart(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"--max-conflicts=1000", "--max-failed-syncs=1000"} {
		_, stderr, code := program.Run(t, newRunCommand(t, minimal(limit, "--timings", "--", "true")...))
		if code != 0 || !strings.Contains(stderr, "settling") {
			t.Errorf("%s: exit code %d: %s", limit, code, stderr)
		}
	}
}

// TestRunSaysWhatFailsThoughSettled has an operator that is killed just before the command ends, and one whose key
// fails again and again: neither keeps the control plane from settling.
func TestRunSaysWhatFailsThoughSettled(t *testing.T) {
	t.Parallel()
	r := startRunWith(t, []string{"GITHUB_ACTIONS=true"}, "--settle", "--healthy", "--no-hot-loop", "--report", "out", "--nodes=0", "--no-scheduler", "--controllers=root-ca-certificate-publisher-controller", "--", "sh", "-c", reportScript)
	kubeconfig := r.readLine(t)
	start := func(kind, command, says string) (kill func()) {
		t.Helper()
		cmd := program.Command(t, "--data-dir", filepath.Dir(kubeconfig), "reconcile", kind, "-n", "default", "--", command)
		var out lineBuffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = cmd.Wait()
		}()
		kill = func() {
			_ = cmd.Process.Kill() // fails if it has ended
			<-ended
		}
		t.Cleanup(kill)
		testutil.Await(t, says, func() bool { return strings.Contains(out.String(), says) })
		return kill
	}
	start("configmaps", "false", "default/kube-root-ca.crt: failed with exit code 1, will retry")
	start("secrets", "true", "operator/secret is running")()
	r.stdin.Close()
	r.requireExit(t, 0)

	const fails = `settled, but operator/configmap is failing: configmap: default/kube-root-ca\.crt, \d+ times in a row(, next attempt in .+)?: exit code 1`
	const ended = `settled, but operator/secret does not run: its process has closed its connection without a last report, .+ ago`
	files := readReport(t, filepath.Join(r.cmd.Dir, "out"))
	for name, text := range map[string]string{
		"stderr": r.stderr.String(), "report.html": files["report.html"],
		"junit.xml": regexp.MustCompile(`(?s)<testcase name="--settle"[^>]*>\s*<system-err>.*</system-err>`).FindString(files["junit.xml"]),
	} {
		for _, want := range []string{fails, ended} {
			if !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("%s does not contain %q: %s", name, want, &r.stderr)
			}
		}
	}
	requireText(t, r.stderr.String(), "::warning title=ctrlplane run::settled, but operator/secret does not run", "2 assertions held; the report is ")
}
