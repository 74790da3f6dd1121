//go:build unix

package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestInterruptedRunHasNotPassed sends SIGTERM to the run, or has the command end itself.
func TestInterruptedRunHasNotPassed(t *testing.T) {
	t.Parallel()
	const interrupted = "interrupted by SIGTERM"
	for name, tt := range map[string]struct {
		flags   []string
		script  string
		signal  bool
		code    int
		verdict string
		reason  string
	}{
		"it ends the command":       {[]string{"--report=out"}, "echo begun; exec sleep 1000", true, 143, interrupted, "the command was ended by SIGTERM, which ctrlplane received"},
		"handled":                   {[]string{"--report=out", "--settle", "--healthy"}, idleScript + "trap 'exit 0' TERM; echo begun; wait", true, 143, interrupted, "the command exited with code 0 after SIGTERM"},
		"handled, not judged":       {nil, idleScript + "trap 'exit 0' TERM; echo begun; wait", true, 0, "", "ctrlplane: SIGTERM received, sent to the command"},
		"handled with another code": {[]string{"--report=out"}, idleScript + "trap 'exit 5' TERM; echo begun; wait", true, 5, interrupted, "the command exited with code 5 after SIGTERM"},
		"sent by another process":   {[]string{"--report=out"}, "echo begun; kill -TERM $$", false, 143, "failed with exit code 143", "the command was ended by signal 15 (SIGTERM), which ctrlplane has not sent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startRun(t, minimal(append(tt.flags, "--", "sh", "-c", tt.script)...)...)
			r.readLine(t)
			if tt.signal {
				r.sendSignal(t, syscall.SIGTERM)
			}
			r.requireExit(t, tt.code)
			requireLastLine(t, r.stderr.String(), tt.reason)
			if said := strings.Contains(r.stderr.String(), "ctrlplane: SIGTERM received, sent to the command\n"); said != tt.signal {
				t.Errorf("the signal is said: %v: %s", said, &r.stderr)
			}
			if tt.verdict == "" {
				return
			}
			requireText(t, r.stderr.String(), "ctrlplane: "+tt.verdict+" after ")
			files := readReport(t, filepath.Join(r.cmd.Dir, "out"))
			requireText(t, files["report.html"], tt.verdict)
			if failures := junitFailures(t, files["junit.xml"]); !slices.ContainsFunc(failures, func(m string) bool { return strings.HasPrefix(m, tt.verdict+": "+tt.reason) }) {
				t.Errorf("junit.xml has the failures %q", failures)
			}
		})
	}
}

// TestCanceledJob cancels a job as GitHub does: the command has not ended when the second signal arrives.
func TestCanceledJob(t *testing.T) {
	t.Parallel()
	summary := filepath.Join(t.TempDir(), "summary.md")
	r := startRunWith(t, []string{"GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=" + summary},
		minimal("--report=out", "--settle", "--", "sh", "-c", "trap 'echo cleaning' INT TERM; echo begun; while :; do sleep 0.2; done")...)
	r.readLine(t)
	r.sendSignal(t, syscall.SIGINT)
	r.readLine(t)
	r.sendSecond(t, syscall.SIGTERM)
	r.requireExit(t, 143)
	last := -1
	for _, want := range []string{ // the annotation, which quotes the last one, is written at the same time as the one before
		"ctrlplane: SIGINT received, sent to the command\n", "ctrlplane: SIGTERM received, sent to the command, which is killed if it still runs in 1s\n",
		"ctrlplane: interrupted by SIGTERM after ", "\nctrlplane: the command was killed: it has ignored two signals",
	} {
		at := strings.Index(r.stderr.String(), want)
		if at <= last {
			t.Errorf("%q is missing, or earlier: %s", want, &r.stderr)
		}
		last = at
	}
	requireText(t, r.stderr.String(), "::error title=ctrlplane run interrupted by SIGTERM::")
	if data, err := os.ReadFile(summary); err != nil || !strings.Contains(string(data), "interrupted by SIGTERM") {
		t.Errorf("summary: %s, %v", data, err)
	}
	readReport(t, filepath.Join(r.cmd.Dir, "out"))
}

// TestInterruptedStartIsSaid sends a signal before the command runs.
func TestInterruptedStartIsSaid(t *testing.T) {
	t.Parallel()
	r := startHangingRun(t, minimal("--", "true")...)
	r.sendSignal(t, syscall.SIGTERM)
	r.requireExit(t, 143)
	requireText(t, r.stderr.String(), "ctrlplane: SIGTERM received: the start is interrupted, and a second signal ends ctrlplane at once\n")
}

// TestOwnLinesAfterAnUnendedLine has a command whose last line does not end, as that of printf and of killed programs.
func TestOwnLinesAfterAnUnendedLine(t *testing.T) {
	t.Parallel()
	for _, versions := range []string{"1.37", "1.36,1.37"} {
		cmd := newRunCommand(t, minimal("--report=out", "--kubernetes="+versions, "--", "sh", "-c", "printf 'x: bad thing'; exit 1")...)
		cmd.Env = append(withoutCIEnv(cmd.Env), "GITHUB_ACTIONS=true")
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = log, log
		_ = cmd.Run() // the exit code is checked
		if err := log.Close(); err != nil || cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("exit code %d, %v", cmd.ProcessState.ExitCode(), err)
		}
		text := testutil.ReadFile(t, log.Name())
		for line := range strings.Lines(text) {
			if strings.Contains(line, "bad thing") && !strings.HasSuffix(line, "x: bad thing\n") && !strings.Contains(line, "::error") && !strings.Contains(line, "sh -c") {
				t.Errorf("glued: %q", line)
			}
		}
		for _, version := range strings.Split(versions, ",") {
			begin, verdict := "x: bad thing\n", "ctrlplane: failed with exit code 1"
			if versions != "1.37" {
				begin, verdict = fmt.Sprintf("[%s] %s", version, begin), fmt.Sprintf("[%s] %s", version, verdict)
			}
			if at := strings.Index(text, begin); at < 0 || strings.Index(text, verdict) < at || !strings.Contains(text, "\n::error title=ctrlplane run failed with exit code 1") {
				t.Errorf("%s: %s", version, text)
			}
		}
	}
}

// TestReportOfFailedManifest asks the report of a run whose start has failed as an object was refused.
func TestReportOfFailedManifest(t *testing.T) {
	t.Parallel()
	cmd := newRunCommand(t, minimal("--report=out", "-f", "web.yaml", "--", "true")...)
	cmd.Env = withoutCIEnv(cmd.Env)
	testutil.WriteFile(t, filepath.Join(cmd.Dir, "web.yaml"), "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}}")
	if _, stderr, code := program.Run(t, cmd); code != 2 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	out := filepath.Join(cmd.Dir, "out")
	for _, verb := range [][]string{{"why", "configmap/web", "-n", "shop"}, {"status"}} {
		stdout, stderr, code := program.Run(t, program.Command(t, append(verb, "--from", out)...))
		if code != 0 {
			t.Errorf("%s: exit code %d: %s", verb, code, stderr)
		}
		requireText(t, strings.Join(strings.Fields(stdout), " "), "failed to ", `namespaces "shop" not found`)
	}
}
