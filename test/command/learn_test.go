package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestLearnAutoMatchesGoldenTraces runs all lessons with --auto on one control plane
// and compares their traces with earlier runs.
func TestLearnAutoMatchesGoldenTraces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := program.Command(t, "learn", "--auto", "--traces", dir)
	cmd.Env = append(cmd.Env, append(goCacheEnv(t), "GOFLAGS=-ldflags=-w")...) // the linker takes less without debug information
	runLessons(t, cmd)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d traces, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) { compareTrace(t, name, file) })
	}
}

// TestLearnOnOneControlPlane runs lessons one after another on one control plane: a lesson
// removes what it has changed.
func TestLearnOnOneControlPlane(t *testing.T) {
	t.Parallel()
	p := program.Up(t, filepath.Join(t.TempDir(), "data"))
	for _, tc := range []struct {
		name string
		test func(*testing.T, *program.ControlPlane)
	}{
		{"skip after a mistake", testLearnSkipAfterMistake},
		{"explains mistakes", testLearnExplainsMistakes},
		{"reverts changes", testLearnRevertsChanges},
		{"leaves out", testLearnLeavesOut},
		{"says how to continue", testLearnSaysHowToContinue},
		{"check knows all kinds", testLearnCheckKnowsAllKinds},
		{"failed steps", testLearnReportsFailedSteps},
		{"documented lesson", testLearnDocumentedLesson},
		{"without Go", testLearnWithoutGo},
		{"folder that cannot be created", testLearnWithoutFolder},
		{"interrupted at its beginning", testLearnInterruptedEarly},
		{"under timeout", testLearnUnderTimeout},
		{"terminated twice", testLearnTerminatedTwice},
		{"killed", testLearnKilled},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, p) })
	}
}

// runLessons runs built-in lessons and returns what they print.
func runLessons(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	began := time.Now()
	stdout, stderr, code := program.Run(t, cmd)
	if code != 0 {
		t.Fatalf("exit code %d: %s\n%s", code, stderr, stdout[max(0, len(stdout)-6000):])
	}
	t.Logf("%v took %v", cmd.Args[1:], time.Since(began).Round(time.Second))
	return stdout
}

// testLearnWithoutGo runs the lesson that uses Go on a machine without Go.
func testLearnWithoutGo(t *testing.T, p *program.ControlPlane) {
	cmd := program.Command(t, "--data-dir", p.Dir, "learn", "own", "--auto")
	cmd.Env = append(cmd.Env, "PATH="+pathWithoutGo())
	if out := runLessons(t, cmd); !strings.Contains(out, "sh controller.sh &") {
		t.Errorf("got:\n%s", out)
	}
}

// pathWithoutGo returns PATH without the folders that contain go.
func pathWithoutGo() string {
	var dirs []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := exec.LookPath(filepath.Join(dir, "go")); err != nil {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, string(os.PathListSeparator))
}

// goCacheEnv returns the environment that names Go's caches: a command has a home
// folder of its own.
func goCacheEnv(t *testing.T) (env []string) {
	t.Helper()
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return env
}

// testLearnDocumentedLesson runs the example in docs/lessons.md.
func testLearnDocumentedLesson(t *testing.T, p *program.ControlPlane) {
	text := testutil.ReadFile(t, filepath.Join("..", "..", "docs", "lessons.md"))
	_, rest, _ := strings.Cut(strings.ReplaceAll(text, "\r\n", "\n"), "````markdown\n")
	lesson, _, _ := strings.Cut(rest, "````\n")
	file := testutil.WriteFile(t, filepath.Join(t.TempDir(), "note.md"), lesson)
	class, flags := joined(t)
	stdout, stderr, code := program.Run(t, program.Command(t, append([]string{"--data-dir", p.Dir, "learn", "--auto", file}, flags...)...))
	if code != 0 || !strings.Contains(stdout, "✓ There is a note.") && !strings.Contains(stdout, "ok There is a note.") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	requireSent(t, class, `"step":1,"of":1,"state":"done"`)
}

// testLearnReportsFailedSteps runs lessons of a student with --auto whose checks fail.
func testLearnReportsFailedSteps(t *testing.T, p *program.ControlPlane) {
	for name, tc := range map[string]struct{ steps, says string }{
		"not done": {
			"## One\n```do\nsay: x\nrun: kubectl create configmap a\nuntil:\n- count: configmaps\n  where: a=b\nwithin: 100ms\n```\n",
			`: number of configmaps with a=b must not be 0: it is "0"`,
		},
		"kind": {
			"## One\n```run\nuntil:\n- count: podz\nwithin: 100ms\n```\n", `: the server has no resource "podz"`,
		},
		"done before": {
			"## One\n```do\nsay: x\nrun: kubectl create configmap a\nuntil:\n- object: serviceaccount/default\n```\n",
			"line 7: the checks hold before the task is done",
		},
		"command": {"## One\n\nText.\n\n## Two\n```run\nrun: kubectl create nonsense\n```\n", `line 11: "kubectl create nonsense" failed with exit code 1`},
		"nothing to trace": {
			"## One\n```show\ntrace: configmap/none\n```\n", "no such object in the recorded history",
		},
		"measure": {"## One\n```ask\nquestion: x\nmeasure: {command: echo many}\n```\n", "is not a number"},
	} {
		t.Run(name, func(t *testing.T) {
			class, flags := joined(t)
			program.RequireFailure(t, program.Command(t, append([]string{"--data-dir", p.Dir, "learn", "--auto", program.WriteLesson(t, tc.steps)}, flags...)...), 1, tc.says)
			if name == "command" { // other lessons have one step, or fail before it
				requireSent(t, class, `"step":2,"of":2,"state":"left"`)
			}
			program.RequireLessonCleanedUp(t, p)
		})
	}
}
