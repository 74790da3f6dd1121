package command_test

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// testLearnSkipAfterMistake deletes the wrong object in lesson 2 and skips everything else:
// the lesson goes on in the state that its text is about.
func testLearnSkipAfterMistake(t *testing.T, p *program.ControlPlane) {
	cmd := program.Command(t, "--data-dir", p.Dir, "learn", "2")
	cmd.Stdin = strings.NewReader("kubectl delete deployment web\n" + strings.Repeat("skip\n", 20))
	stdout, stderr, code := program.Run(t, cmd)
	at := 0
	for _, want := range []string{
		`deployment.apps "web" deleted`, "The solution cannot be used after what was done before", "Setting up the lesson again", "It has created a replacement.",
		"One Pod is left.", "It has created two Pods.", "You have completed lesson 2 level.",
	} {
		i := strings.Index(stdout[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing: exit code %d, stderr %q, stdout:\n%s", want, code, stderr, stdout)
		}
		at += i
	}
	if code != 0 || strings.Contains(stdout, "left out") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
}

// testLearnLeavesOut goes on without a task that cannot be done: nothing says that it was.
func testLearnLeavesOut(t *testing.T, p *program.ControlPlane) {
	cmd := program.Command(t, "--data-dir", p.Dir, "learn", program.WriteLesson(t, "## First\n\n```do\nsay: Do it.\nrun: test -e done\nuntil:\n- command: test -e done\n```\n\nIt was done.\n\n## Second\n\nMore.\n"))
	cmd.Stdin = strings.NewReader("skip\nskip\nskip\nskip\n")
	stdout, stderr, code := program.Run(t, cmd)
	if code != 0 || strings.Contains(stdout, "It was done.") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	for _, want := range []string{"The rest of this step is left out.", "Not completed: “First”. What you see may differ", "This is the end of lesson mine."} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing:\n%s", want, stdout)
		}
	}
}
