//go:build !windows

package terminal_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

const ownLesson = `## One

Make a *note*.

` + "```do" + `
say: Create a ConfigMap called note.
run: kubectl create configmap note --from-literal=a=b
hints:
- Use kubectl.
until:
- object: configmap/note
  say: There is a note.
` + "```" + `

` + "```ask" + `
question: How many notes are there?
measure: {count: configmaps, where: "!none", fields: metadata.name=note}
wrong:
- {pattern: "2", why: One is enough.}
hints:
- Count them.
explain: It is *one*.
` + "```" + `

## Two

` + "```do" + `
say: Pause the job controller.
run: ctrlplane controllers pause job
until:
- controller: job
  is: paused
  say: It is paused.
` + "```" + `

## Three

` + "```ask" + `
question: Which letter?
choices:
- {text: this, right: true}
- {text: that, why: It is not that one.}
` + "```" + `
`

// TestLearn runs lessons one after another on one control plane, which the last test stops:
// a lesson removes what it has changed.
func TestLearn(t *testing.T) {
	t.Parallel()
	p := program.Up(t, filepath.Join(t.TempDir(), "data"))
	for _, tc := range []struct {
		name string
		test func(*testing.T, *program.ControlPlane)
	}{
		{"interactively", testLearnInteractively},
		{"namespace deleted", testLearnNamespaceDeleted},
		{"asks before it runs a file", testLearnAsksBeforeRunningFile},
		{"keeps the namespace until asked", testLearnKeepsTheNamespace},
		{"says what failed to a student", testLearnSaysWhatFailed},
		{"erases prompts within a text", testLearnErasesPrompts},
		{"colors of snapshot diff", testSnapshotDiffHasColors},
		{"interrupted on the way to a step", testLearnInterruptedOnTheWay},
		{"interrupted", testLearnInterrupted},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, p) })
	}
}

// testLearnInteractively runs a lesson in a terminal, leaves it, and resumes it.
func testLearnInteractively(t *testing.T, p *program.ControlPlane) {
	v := startTerminal(t, 240, 60, "--data-dir", p.Dir, "learn", "--yes", program.WriteLesson(t, ownLesson))
	v.awaitText(t, "lesson-mine $")
	v.pressKeys(t, keyEnter)
	v.awaitText(t, "Missing: “There is a note”: configmap/note does not exist.")
	v.pressKeys(t, "hint"+keyEnter)
	v.awaitText(t, "Hint: Use kubectl.")
	v.pressKeys(t, "kubectl get configmap nothing"+keyEnter)
	v.awaitText(t, `configmaps "nothing" not found`)

	// The step is done in another shell.
	kubectl := program.Command(t, "--data-dir", p.Dir, "kubectl", "-n", "lesson-mine", "create", "configmap", "note")
	if _, stderr, code := program.Run(t, kubectl); code != 0 {
		t.Fatal(stderr)
	}
	v.awaitText(t, "✓ There is a note.")
	for _, step := range [][2]string{
		{"2", "No. One is enough."}, {"many", "Type a number."}, {"hint", "Hint: Count them."},
		{"! kubectl get configmap note", "note   0 "}, {"1", "It is one."},
	} {
		v.pressKeys(t, step[0]+keyEnter)
		v.awaitText(t, step[1])
	}
	v.awaitText(t, "Pause the job controller.")
	v.pressKeys(t, "skip"+keyEnter)
	v.awaitText(t, "✓ It is paused.")
	v.awaitText(t, "Which letter?")
	v.pressKeys(t, "b"+keyEnter)
	v.awaitText(t, "No. It is not that one.")
	v.pressKeys(t, "quit"+keyEnter)
	v.awaitText(t, "To continue at step 3: ")
	v.requireExit(t)
	program.RequireLessonCleanedUp(t, p)

	again := program.Command(t, "--data-dir", p.Dir, "learn", "--resume")
	again.Env = v.cmd.Env // the same progress
	again.Stdin = strings.NewReader("b\nA\n")
	stdout, stderr, code := program.Run(t, again)
	if code != 0 || stderr != "" || !strings.Contains(stdout, "Repeating the earlier steps") || !strings.Contains(stdout, "It is not that one") || !strings.Contains(stdout, "You have completed lesson") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	program.RequireLessonCleanedUp(t, p)
}

// testLearnNamespaceDeleted deletes the lesson's namespace in the middle of the lesson.
func testLearnNamespaceDeleted(t *testing.T, p *program.ControlPlane) {
	v := startTerminal(t, 120, 40, "--data-dir", p.Dir, "learn", "--yes", program.WriteLesson(t, ownLesson))
	startOver := func(n int) {
		v.awaitScreen(t, "question", func(text string) bool { return strings.Count(text, "Press Enter to create it again") == n })
		v.pressKeys(t, keyEnter)
	}
	v.awaitText(t, "lesson-mine $")
	v.pressKeys(t, "kubectl delete namespace lesson-mine"+keyEnter)
	startOver(1)
	v.awaitScreen(t, "the first step again", func(text string) bool { return strings.Count(text, "Your turn: Create a ConfigMap") == 2 })
	v.pressKeys(t, "skip"+keyEnter)
	v.awaitText(t, "How many notes are there?")
	v.pressKeys(t, "1"+keyEnter)
	v.awaitText(t, "Your turn: Pause the job controller.")
	v.pressKeys(t, "kubectl delete namespace lesson-mine --wait=false"+keyEnter)
	startOver(2)
	v.awaitText(t, "Repeating the earlier steps")
	v.awaitScreen(t, "the second step again", func(text string) bool { return strings.Count(text, "Your turn: Pause the job") == 2 })
	v.pressKeys(t, "kubectl get configmap note"+keyEnter)
	v.awaitText(t, "note   1 ")
	v.pressKeys(t, "exit"+keyEnter)
	v.awaitText(t, "To continue at step 2: ")
	v.requireExit(t)
	program.RequireLessonCleanedUp(t, p)
}

// testLearnAsksBeforeRunningFile takes a lesson from a file without --yes.
func testLearnAsksBeforeRunningFile(t *testing.T, p *program.ControlPlane) {
	file := program.WriteLesson(t, ownLesson)
	for answer, want := range map[string]string{"": "was not started", "no": "was not started", "y": "lesson-mine $"} {
		t.Run(answer, func(t *testing.T) {
			v := startTerminal(t, 240, 60, "--data-dir", p.Dir, "learn", file)
			v.awaitText(t, file+" runs shell commands on this machine, as you. Run it? [y/N]")
			v.pressKeys(t, answer+keyEnter)
			v.awaitText(t, want)
			if answer == "y" {
				v.pressKeys(t, keyCtrlC+keyCtrlC)
			}
			<-v.Done()
		})
	}
	t.Run("Ctrl-C", func(t *testing.T) {
		v := startTerminal(t, 240, 60, "--data-dir", p.Dir, "learn", file)
		v.awaitText(t, "[y/N]")
		v.pressKeys(t, keyCtrlC)
		<-v.Done()
	})
	program.RequireLessonCleanedUp(t, p)
}

// testLearnKeepsTheNamespace completes a lesson: what it has created stays until
// the reader has seen enough. Tab completes commands meanwhile.
func testLearnKeepsTheNamespace(t *testing.T, p *program.ControlPlane) {
	v := startTerminal(t, 120, 40, "--data-dir", p.Dir, "learn", "--yes", program.WriteLesson(t, ownLesson))
	for _, step := range [][2]string{
		{"lesson-mine $", "skip"}, {"How many notes are there?", "1"}, {"Pause the job controller.", "skip"}, {"Which letter?", "a"},
	} {
		v.awaitText(t, step[0])
		v.pressKeys(t, step[1]+keyEnter)
	}
	v.awaitText(t, "You have completed lesson")
	v.awaitText(t, "Press Enter to delete it. lesson-mine $")
	testutil.Await(t, "completed command", func() bool { // Tab does nothing if the answer takes too long
		v.pressKeys(t, "kubectl get configm\tno\t#")
		v.awaitRow(t, "kubectl get configm.*#") // after both Tabs
		if strings.Contains(v.Text(), "kubectl get configmaps note #") {
			return true
		}
		v.pressKeys(t, keyCtrlC) // clears the line
		v.awaitTextGone(t, "kubectl get configm")
		return false
	})
	v.pressKeys(t, keyEnter)
	v.awaitText(t, "note   1 ")
	v.pressKeys(t, keyEnter)
	v.requireExit(t)
	program.RequireLessonCleanedUp(t, p)
}

// testLearnErasesPrompts runs a lesson with a text for which the first screen has no room.
func testLearnErasesPrompts(t *testing.T, p *program.ControlPlane) {
	file := program.WriteLesson(t, "## One\n```show\ncommand: seq 101 112\n```\n```ask\nquestion: How many?\nnumber: 12\n```\n")
	v := startTerminal(t, 100, 24, "--data-dir", p.Dir, "learn", "--yes", file)
	const prompt = "More: press Enter."
	v.awaitText(t, prompt)
	v.pressKeys(t, keyEnter)
	v.awaitText(t, "Answer:")
	v.awaitTextGone(t, prompt)
	v.pressKeys(t, "quit"+keyEnter)
	v.requireExit(t)
	program.RequireLessonCleanedUp(t, p)
}

// testLearnSaysWhatFailed runs a lesson with a mistake of its author.
func testLearnSaysWhatFailed(t *testing.T, p *program.ControlPlane) {
	file := program.WriteLesson(t, "## One\n```run\nrun: test -e done\n```\n```show\ntrace: configmap/none\n```\n")
	v := startTerminal(t, 120, 40, "--data-dir", p.Dir, "learn", "--yes", file)
	v.awaitText(t, `This part of the lesson did not work: "test -e done" failed with exit code 1.`)
	v.pressKeys(t, "touch done"+keyEnter)
	v.awaitScreen(t, "prompt", func(text string) bool { return strings.Count(text, `"skip" goes on without it.`) == 2 })
	v.pressKeys(t, keyEnter)
	v.awaitText(t, "ConfigMap lesson-mine/none: no such")
	v.awaitTextGone(t, "line 1") // of the file
	v.pressKeys(t, "skip"+keyEnter)
	v.awaitText(t, "Press Enter to continue.")
	v.pressKeys(t, "quit"+keyEnter)
	v.requireExit(t)
	program.RequireLessonCleanedUp(t, p)
}

// testLearnInterruptedOnTheWay interrupts the repetition of earlier steps: a reader who stays gets to the step.
func testLearnInterruptedOnTheWay(t *testing.T, p *program.ControlPlane) {
	gate := testutil.WriteFile(t, filepath.Join(t.TempDir(), "gate"), "")
	lesson := program.WriteLesson(t, "## One\n```run\nrun: test -e "+gate+" || sleep 1000\n```\n\n## Two\n```do\nsay: Create c.\nrun: kubectl create configmap c\nuntil:\n- object: configmap/c\n```\n")
	v := startTerminal(t, 240, 60, "--data-dir", p.Dir, "learn", "--yes", lesson)
	v.awaitText(t, "Press Enter to continue. lesson-mine $")
	v.pressKeys(t, keyEnter)
	v.awaitText(t, "Your turn: Create c.")
	if err := os.Remove(gate); err != nil {
		t.Fatal(err)
	}
	v.pressKeys(t, "kubectl delete namespace lesson-mine --wait=false"+keyEnter)
	v.awaitText(t, "Press Enter to create it again")
	v.pressKeys(t, keyEnter)
	v.awaitText(t, "Running test -e")
	v.pressKeys(t, keyCtrlC)
	v.awaitText(t, "Leave the lesson, and delete what it has created? [y/N]")
	testutil.WriteFile(t, gate, "")
	v.pressKeys(t, "n"+keyEnter)
	v.awaitScreen(t, "the step", func(text string) bool { return strings.Count(text, "Your turn: Create c.") == 2 })
	v.pressKeys(t, "quit"+keyEnter)
	v.awaitText(t, "To continue at step 2: ")
	v.requireExit(t)
	program.RequireLessonCleanedUp(t, p)
}

// testLearnInterrupted interrupts lessons, and at last stops the control plane.
func testLearnInterrupted(t *testing.T, p *program.ControlPlane) {
	file := program.WriteLesson(t, "## One\n```run\nrun: ctrlplane controllers pause job\n```\n"+ownLesson)
	t.Run("Ctrl-C", func(t *testing.T) {
		v := startTerminal(t, 240, 60, "--data-dir", p.Dir, "learn", "--yes", file)
		v.awaitText(t, "Press Enter to continue. lesson-mine $")
		v.pressKeys(t, "echo not me")
		v.awaitText(t, "not me")
		v.pressKeys(t, keyCtrlC) // clears the line
		v.awaitScreen(t, "empty line", func(text string) bool { return !strings.Contains(text, "not me") })
		v.pressKeys(t, `echo st""ays`+keyEnter)
		v.awaitScreen(t, "prompt after the command", func(text string) bool {
			return strings.Contains(text, "stays") && strings.Count(text, "Press Enter to continue. lesson-mine $") == 2
		})
		v.pressKeys(t, keyCtrlC) // asks
		v.awaitText(t, "Leave the lesson, and delete what it has created? [y/N]")
		v.pressKeys(t, "n"+keyEnter)
		v.awaitScreen(t, "next prompt", func(text string) bool { return strings.Count(text, "Press Enter to continue. lesson-mine $") == 3 })
		if _, err := p.Client(t).CoreV1().Namespaces().Get(t.Context(), "lesson-mine", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		v.pressKeys(t, keyCtrlC)
		v.awaitScreen(t, "second question", func(text string) bool { return strings.Count(text, "Leave the lesson") == 2 })
		v.pressKeys(t, "y"+keyEnter)
		v.awaitText(t, "To begin again: ")
		v.requireExit(t)
		program.RequireLessonCleanedUp(t, p)
	})
	t.Run("SIGTERM", func(t *testing.T) {
		v := startTerminal(t, 240, 60, "--data-dir", p.Dir, "learn", "--yes", file)
		v.awaitText(t, "Press Enter to continue. lesson-mine $")
		program.Signal(t, v.cmd, syscall.SIGTERM)
		v.awaitText(t, "interrupted")
		<-v.Done()
		v.requireRestored(t)
		program.RequireLessonCleanedUp(t, p)
	})
	t.Run("Ctrl-C is the command's", func(t *testing.T) {
		v := startTerminal(t, 240, 60, "--data-dir", p.Dir, "learn", "--yes", file)
		v.awaitText(t, "Press Enter to continue. lesson-mine $")
		v.pressKeys(t, `echo beg""un; exec sleep 1000`+keyEnter)
		v.awaitText(t, "begun")
		v.pressKeys(t, keyCtrlC)
		v.awaitScreen(t, "next prompt", func(text string) bool { return strings.Count(text, "Press Enter to continue. lesson-mine $") == 2 })
		v.pressKeys(t, "quit"+keyEnter)
		v.requireExit(t)
		program.RequireLessonCleanedUp(t, p)
	})
	t.Run("end of input", func(t *testing.T) {
		cmd := program.Command(t, "--data-dir", p.Dir, "learn", file)
		cmd.Stdin = strings.NewReader("")
		program.RequireFailure(t, cmd, 1, "the input ended")
		program.RequireLessonCleanedUp(t, p)
	})
	t.Run("end of the control plane", func(t *testing.T) {
		v := startTerminal(t, 240, 60, "--data-dir", p.Dir, "learn", "--yes", file)
		v.awaitText(t, "Press Enter to continue. lesson-mine $")
		p.Stop(t, syscall.SIGTERM)
		v.pressKeys(t, keyEnter)
		v.awaitText(t, "the control plane has exited")
		<-v.Done()
	})
}
