//go:build unix

package command_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// simulatedManifest has programs that do not run here, and one that runs beside a probe that is not made.
const simulatedManifest = `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: app}, spec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}},
  spec: {containers: [{name: c, image: no.such/image, command: [/bin/nonsense, --crash], livenessProbe: {exec: {command: [/nope]}}}]}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: migrate}, spec: {template: {spec: {restartPolicy: Never, containers: [
  {name: c, image: app, command: [rake, "db:migrate"]}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: probed}, spec: {containers: [{name: c, image: busybox, command: [sleep, 1h], readinessProbe: {tcpSocket: {port: 9999}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: runs}, spec: {containers: [{name: c, image: busybox, command: [sleep, 1h]}]}}
`

// TestRunSaysWhatWasNotRun has objects that are all healthy; a client has deleted one of them.
func TestRunSaysWhatWasNotRun(t *testing.T) {
	t.Parallel()
	const line = "simulated, not run: Deployment default/app (/bin/nonsense --crash), Job default/migrate (rake db:migrate), Pod default/probed (readiness probe)"
	cmd := newRunCommand(t, "--settle", longTimeout, "--healthy", "--nodes=1", "--report", "out", "-f", "m.yaml", "--", "sh", "-c",
		`"$0" wait --timeout 5m -f m.yaml && "$0" why deployment/app && "$0" kubectl delete job migrate`, program.Path())
	testutil.WriteFile(t, filepath.Join(cmd.Dir, "m.yaml"), simulatedManifest)
	summary := filepath.Join(t.TempDir(), "summary.md")
	cmd.Env = append(withoutCIEnv(cmd.Env), "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY="+summary)
	stdout, stderr, code := program.Run(t, cmd)
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	const nothingRuns = "Nothing runs in container c, which keeps running: its command needs /bin/nonsense, which is not simulated. "
	for _, want := range []string{"\nDeployment default/app: " + nothingRuns, "\nJob default/migrate: Nothing runs in container c, which exits with 0 at once: its command needs rake, "} {
		if !strings.Contains(stderr, want) {
			t.Errorf("wait does not say %q", want)
		}
	}
	if strings.Contains(stderr, "\nPod default/runs: ") {
		t.Error("wait says of a program that runs that it does not")
	}
	if why := strings.Join(strings.Fields(stdout), " "); !strings.Contains(why, nothingRuns) {
		t.Errorf("why of the Deployment: %s", stdout)
	}
	if !strings.Contains(stderr, "\nctrlplane: "+line+"\nctrlplane: passed in ") {
		t.Errorf("stderr lacks %q:\n%s", line, stderr)
	}
	files := readReport(t, filepath.Join(cmd.Dir, "out"))
	markdown := regexp.MustCompile(`&#\d+;`).ReplaceAllString(testutil.ReadFile(t, summary), "?")
	for name, text := range map[string]string{
		"junit.xml":   regexp.MustCompile(`(?s)<testcase name="--healthy"[^>]*>\s*<system-out>.*</system-out>`).FindString(files["junit.xml"]),
		"report.html": regexp.MustCompile(`(?s)<header>.*</header>`).FindString(files["report.html"]),
	} {
		if !strings.Contains(text, line) {
			t.Errorf("%s lacks the line: %s", name, text)
		}
	}
	if !strings.Contains(markdown, "simulated, not run?") || !strings.Contains(markdown, "/bin/nonsense") {
		t.Errorf("the job summary lacks the line:\n%s", markdown)
	}
}

// TestRunWithoutPodsSaysNothingOfThem judges a run without Pods, and one whose only program runs.
func TestRunWithoutPodsSaysNothingOfThem(t *testing.T) {
	t.Parallel()
	for name, manifest := range map[string]string{
		"no Pods":             "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}",
		"a program that runs": "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: busybox, command: [sleep, 1h]}]}}",
	} {
		cmd := newRunCommand(t, "--settle", longTimeout, "--healthy", "--nodes=1", "-f", "m.yaml", "--", "true")
		testutil.WriteFile(t, filepath.Join(cmd.Dir, "m.yaml"), manifest)
		if _, stderr, code := program.Run(t, cmd); code != 0 || strings.Contains(stderr, "simulated") {
			t.Errorf("%s: exit code %d: %s", name, code, stderr)
		}
	}
}
