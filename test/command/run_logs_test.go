//go:build unix

package command_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// failingManifest has containers whose logs are long: one by its lines, the other by its trace.
const failingManifest = `
apiVersion: batch/v1
kind: Job
metadata: {name: json}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: c
        image: busybox
        command: [sh, -c, 'i=0; while [ $i -lt 8 ]; do printf "%03000d\n" $i; i=$((i+1)); done; echo "FATAL: the real reason"; exit 2']
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: go}
spec:
  selector: {matchLabels: {app: go}}
  template:
    metadata: {labels: {app: go}}
    spec:
      containers:
      - name: c
        image: busybox
        command: [sh, -c, 'echo "panic: config: missing key"; i=0; while [ $i -lt 40 ]; do echo "main.f$i(...)"; i=$((i+1)); done; exit 2']
`

// runAsJob runs a command as a job of GitHub does. It returns stderr, the exit code, the summary of the job and the report.
func runAsJob(t *testing.T, files map[string]string, args ...string) (stderr string, code int, markdown string, report map[string]string) {
	t.Helper()
	cmd := newRunCommand(t, append([]string{"--report", "out"}, args...)...)
	testutil.WriteFiles(t, cmd.Dir, files)
	summary := filepath.Join(t.TempDir(), "summary.md")
	cmd.Env = append(withoutCIEnv(cmd.Env), "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY="+summary)
	_, stderr, code = program.Run(t, cmd)
	return stderr, code, testutil.ReadFile(t, summary), readReport(t, filepath.Join(cmd.Dir, "out"))
}

// A run has the end of the logs of containers that failed, and the beginning of a crash.
func TestRunHasTheEndOfLogs(t *testing.T) {
	t.Parallel()
	stderr, code, markdown, report := runAsJob(t, map[string]string{"a.yaml": failingManifest}, longTimeout, "--nodes=1", "--settle", "--healthy", "-f", "a.yaml", "--",
		"sh", "-c", `"$0" kubectl wait pod -l app=go --for=jsonpath='{.status.containerStatuses[0].state.waiting.reason}'=CrashLoopBackOff --timeout=-1s`, program.Path())
	if code != 123 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for name, text := range map[string]string{"stderr": stderr, "summary": markdown, "page": report["report.html"], "junit.xml": report["junit.xml"]} {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "&#58;", ":"), "&#46;", ".")
		for _, want := range []string{"FATAL: the real reason", "panic: config: missing key", "main.f39", "… 27 lines left out"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
	requireText(t, stderr, "    | … 27 lines left out: see report.html\n")
	requireText(t, report["report.html"], "<bdi>main.f20(...)</bdi>")
}

// A run has the logs of containers whose Pods the command has deleted.
func TestRunHasLogsOfDeletedPods(t *testing.T) {
	t.Parallel()
	const script = `set -e
kubectl() { "$0" kubectl "$@"; }
for n in a b; do
  kubectl create ns $n
  kubectl create job j -n $n --image=busybox -- sh -c "echo FATAL no db in $n; exit 3"
  kubectl patch job j -n $n --type=merge -p '{"spec":{"backoffLimit":0}}'
  kubectl wait job j -n $n --for=condition=Failed --timeout=-1s
done
kubectl delete ns a
kubectl delete job j -n b
exit 4`
	stderr, code, markdown, report := runAsJob(t, nil, "--nodes=1", "--", "sh", "-c", script, program.Path())
	if code != 4 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for name, text := range map[string]string{"stderr": stderr, "summary": markdown, "page": report["report.html"]} {
		for _, want := range []string{"FATAL no db in a", "FATAL no db in b"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, stderr)
			}
		}
	}
}

// The hint of an error is in all that a run writes.
func TestReportHasHints(t *testing.T) {
	t.Parallel()
	stderr, code, markdown, report := runAsJob(t, map[string]string{"empty/sub/a.yaml": "x"}, minimal("-f", "empty", "--", "true")...)
	if code != 2 || strings.Count(stderr, "add -R to read them") != 2 { // the error, and the annotation
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for name, text := range map[string]string{"summary": markdown, "page": report["report.html"], "junit.xml": report["junit.xml"]} {
		if text = strings.ReplaceAll(text, "&#45;", "-"); !strings.Contains(text, "add -R to read them") {
			t.Errorf("%s lacks the hint", name)
		}
	}
}
