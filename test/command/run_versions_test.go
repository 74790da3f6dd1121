//go:build unix

package command_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
	"github.com/ctrlplane/ctrlplane/internal/upstreamversion"
)

// TestRunWithEachKubernetesVersion checks that each run has the APIs of its version in
// the API server, in its controllers and in what it says of itself, that failures are
// told apart, and that nothing is left.
func TestRunWithEachKubernetesVersion(t *testing.T) {
	t.Parallel()
	reports := t.TempDir()
	ctrlplane := program.Path()
	minors := upstreamversion.Minors()
	own, failing := minors[3], minors[2]
	emulatedBy := " (emulated by " + strings.TrimPrefix(upstreamversion.Kubernetes, "v") + ")"
	script := fmt.Sprintf(`set -e
version=$(%[1]s kubectl get --raw /version | sed -n 's/.*emulationMinor": "\([0-9]*\)".*/\1/p')
echo "1.$version $(%[1]s status | tr "\n" " ")"
[ 1.$version != %[2]s ] || exit 3
`, ctrlplane, failing)
	cmd := newRunCommand(t, "--kubernetes", "v"+strings.Join(minors, ","), "--jobs", "2", "--settle", longTimeout, "--healthy", "--report", reports, "-f", "web.yaml", "--", "sh", "-c", script)
	testutil.WriteFile(t, filepath.Join(cmd.Dir, "web.yaml"), `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {
		selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: nginx}]}}}}`)
	stdout, stderr, code := program.Run(t, cmd)
	if code != 3 {
		t.Errorf("exit code %d, want 3, that of the run that failed: %s", code, stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	slices.Sort(lines)
	if len(lines) != len(minors) {
		t.Fatalf("got %d lines, want one of each version:\n%s\n%s", len(lines), stdout, stderr)
	}
	for i, version := range minors {
		if want := fmt.Sprintf("[%s] %s ", version, version); !strings.HasPrefix(lines[i], want) {
			t.Errorf("got %q, want %q first", lines[i], want)
		}
		if emulated := strings.Contains(lines[i], version+emulatedBy); emulated != (version != own) {
			t.Errorf("the status with %s: %q", version, lines[i])
		}
		page, err := os.ReadFile(filepath.Join(reports, version, "report.html"))
		if err != nil || version != own && !bytes.Contains(page, []byte(version+emulatedBy)) {
			t.Errorf("the report of %s does not say its version: %v", version, err)
		}
	}
	for _, want := range []string{minors[0] + "         passed", minors[1] + "         passed", failing + "         exit code 3", own + "         passed"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("the table lacks %q: %s", want, stderr)
		}
	}
	requireLastLine(t, stderr, "failed with Kubernetes "+failing)
	requireNothingLeft(t, cmd)
}

// TestRunVersionsAnnotateTheJob checks that annotations begin a line, and say the version.
func TestRunVersionsAnnotateTheJob(t *testing.T) {
	t.Parallel()
	cmd := newRunCommand(t, minimal("--kubernetes", "1.36,1.37", "--report", "out", "--", "sh", "-c", "exit 3")...)
	cmd.Env = append(withoutCIEnv(cmd.Env), "GITHUB_ACTIONS=true", "GITLAB_CI=true")
	_, stderr, code := program.Run(t, cmd)
	if code != 3 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, version := range []string{"1.36", "1.37"} {
		requireText(t, stderr, "\n::error title=ctrlplane run failed with exit code 3 (Kubernetes "+version+")::sh -c 'exit 3'\n", ":ctrlplane_run_"+version+"\r")
	}
	if strings.Contains(stderr, "] ::error") || strings.Contains(stderr, "] \x1b[0Ksection") {
		t.Errorf("there are commands with a prefix: %q", stderr)
	}
	requireNothingLeft(t, cmd)
}

// TestRunVersionsWithLeftovers checks that a process that the command leaves behind, with
// the output of the run, does not keep the runs from ending.
func TestRunVersionsWithLeftovers(t *testing.T) {
	t.Parallel()
	cmd := newRunCommand(t, minimal("--kubernetes", "1.36,1.37", "--", "sh", "-c", "sleep 300 & echo $!")...)
	stdout, stderr, code := program.Run(t, cmd)
	if code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, version := range []string{"1.36", "1.37"} {
		if !strings.Contains(stderr, version+"         passed") {
			t.Errorf("the table lacks %s: %s", version, stderr)
		}
	}
	for line := range strings.Lines(stdout) {
		_, text, _ := strings.Cut(strings.TrimSpace(line), "] ")
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("got %q: %v", line, err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Errorf("the process that was left: %v", err)
		}
	}
}

// TestRunVersionsInterrupted checks that a signal ends all runs, and that those that
// wait do not start.
func TestRunVersionsInterrupted(t *testing.T) {
	t.Parallel()
	r := startRun(t, minimal("--kubernetes", "1.35,1.36,1.37", "--jobs", "2", "--", "sh", "-c", "echo begun; exec sleep 1000")...)
	for range 2 {
		if line := r.readLine(t); !strings.HasSuffix(line, "] begun") {
			t.Fatalf("got %q", line)
		}
	}
	r.sendSignal(t, syscall.SIGTERM)
	r.requireExit(t, 128+int(syscall.SIGTERM))
	if got := r.stderr.String(); strings.Count(got, "exit code 143") != 2 || strings.Count(got, "not started: interrupted") != 1 {
		t.Errorf("got %s", got)
	}
}

func TestRunVersionsForwardSignalsForTheCommand(t *testing.T) {
	t.Parallel()
	r := startRun(t, minimal("--kubernetes", "1.36,1.37", "--jobs", "2", "--", "sh", "-c", idleScript+"trap 'exit 7' USR1; echo begun; wait")...)
	for range 2 {
		if line := r.readLine(t); !strings.HasSuffix(line, "] begun") {
			t.Fatalf("got %q", line)
		}
	}
	r.sendSignal(t, syscall.SIGUSR1)
	r.requireExit(t, 7)
	if got := r.stderr.String(); strings.Count(got, "exit code 7") != 2 {
		t.Errorf("got %s", got)
	}
}
