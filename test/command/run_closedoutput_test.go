//go:build unix

package command_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestRunWithClosedOutput closes stdout, or stdout and stderr, while the command prints: the command
// receives SIGPIPE, and the report is complete.
func TestRunWithClosedOutput(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		flags  []string
		script string
		code   int
	}{
		"the command receives SIGPIPE": {[]string{"--report=out"}, "echo $$; read go; echo more; read end; yes", 128 + int(syscall.SIGPIPE)},
		"the command goes on":          {[]string{"--report=out"}, "trap '' PIPE; echo $$; read go; echo more 2>/dev/null; exit 3", 3},
		"several versions":             {[]string{"--report=out", "--kubernetes=1.36,1.37", "--jobs=1"}, "echo $$; read go; yes", 128 + int(syscall.SIGPIPE)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startRun(t, append(tt.flags, "--nodes=0", "--", "sh", "-c", tt.script)...)
			r.readLine(t)
			r.out.Close()
			r.stdin.Close()
			r.requireExit(t, tt.code)
			out := filepath.Join(r.cmd.Dir, "out")
			if strings.Contains(name, "versions") {
				out = filepath.Join(out, "1.36")
			}
			readReport(t, out)
		})
	}
}

// TestUpWithClosedOutput closes the stdout of an ephemeral control plane.
func TestUpWithClosedOutput(t *testing.T) {
	t.Parallel()
	cmd := program.Command(t, "up", "--ephemeral", "--ui=plain")
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out.Close()
	defer in.Close()
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = in, &stderr
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), "nothing reads stdout any more") {
		t.Errorf("%v: %s", err, &stderr)
	}
	requireNothingLeft(t, cmd)
}

// TestReportRemovesUnfinished has what a killed run leaves.
func TestReportRemovesUnfinished(t *testing.T) {
	t.Parallel()
	r := startRun(t, "--report=out", "--nodes=0", "--", "sh", "-c", "echo $$; read end")
	r.readLine(t)
	r.sendSignal(t, syscall.SIGKILL)
	<-r.ended
	out := filepath.Join(r.cmd.Dir, "out")
	if left, err := filepath.Glob(filepath.Join(out, ".unfinished-*")); len(left) != 1 || err != nil {
		t.Fatalf("left: %v, %v", left, err)
	}
	again := newRunCommand(t, "--report", out, "--nodes=0", "--", "true")
	again.Env = withoutCIEnv(again.Env)
	if _, stderr, code := program.Run(t, again); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	readReport(t, out)
}

// TestRunWithoutJobSummary names a file for the summary of the job that cannot be written.
func TestRunWithoutJobSummary(t *testing.T) {
	t.Parallel()
	r := startRunWith(t, []string{"GITHUB_STEP_SUMMARY=/no/such/file"}, "--report=out", "--nodes=0", "--", "true")
	r.requireExit(t, 0)
	requireText(t, r.stderr.String(), "warning: the summary of the job is incomplete: GITHUB_STEP_SUMMARY", "; the report is ")
}
