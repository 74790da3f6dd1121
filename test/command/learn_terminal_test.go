//go:build !windows

package command_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const mine = `## One

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

// TestLearnByHand does a lesson as a person does, leaves it, and goes on.
func TestLearnByHand(t *testing.T) {
	p := up(t, filepath.Join(t.TempDir(), "data"))
	v := view(t, 240, 60, "--data-dir", p.dir, "learn", lessonFile(t, mine))
	v.shows(t, "lesson-mine $")
	v.press(t, keyEnter)
	v.shows(t, "Not yet: configmap/note has to be there; now it is not there.")
	v.press(t, "hint"+keyEnter)
	v.shows(t, "Hint: Use kubectl.")
	v.press(t, "kubectl get configmap nothing"+keyEnter)
	v.shows(t, `configmaps "nothing" not found`)

	// Done in another shell.
	kubectl := command(t, "--data-dir", p.dir, "kubectl", "-n", "lesson-mine", "create", "configmap", "note")
	if _, stderr, code := output(t, kubectl); code != 0 {
		t.Fatal(stderr)
	}
	v.shows(t, "✓ There is a note.")
	for _, step := range [][2]string{
		{"2", "No. One is enough."}, {"many", "Type a number."}, {"hint", "Hint: Count them."},
		{"! kubectl get configmap note", "note   0 "}, {"1", "It is one."},
	} {
		v.press(t, step[0]+keyEnter)
		v.shows(t, step[1])
	}
	v.shows(t, "Pause the job controller.")
	v.press(t, "skip"+keyEnter)
	v.shows(t, "✓ It is paused.")
	v.shows(t, "Which letter?")
	v.press(t, "b"+keyEnter)
	v.shows(t, "No. It is not that one.")
	v.press(t, "quit"+keyEnter)
	v.shows(t, "learn --resume goes on at step 3.")
	v.ends(t)
	emptied(t, p)

	again := command(t, "--data-dir", p.dir, "learn", "--resume")
	again.Env = v.cmd.Env // the same progress
	again.Stdin = strings.NewReader("b\nA\n")
	stdout, stderr, code := output(t, again)
	if code != 0 || stderr != "" || !strings.Contains(stdout, "Doing again") || !strings.Contains(stdout, "It is not that one") || !strings.Contains(stdout, "That was lesson") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	emptied(t, p)
}

// TestLearnInterrupted ends lessons in the middle.
func TestLearnInterrupted(t *testing.T) {
	p := up(t, filepath.Join(t.TempDir(), "data"))
	file := lessonFile(t, "## One\n```run\nrun: ctrlplane controllers pause job\n```\n"+mine)
	t.Run("Ctrl-C", func(t *testing.T) {
		v := view(t, 240, 60, "--data-dir", p.dir, "learn", file)
		v.shows(t, "Enter goes on lesson-mine $")
		v.press(t, keyCtrlC)
		v.shows(t, "learn --resume goes on at step 1.")
		v.ends(t)
		emptied(t, p)
	})
	t.Run("SIGTERM", func(t *testing.T) {
		v := view(t, 240, 60, "--data-dir", p.dir, "learn", file)
		v.shows(t, "Enter goes on lesson-mine $")
		if err := v.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		v.shows(t, "interrupted")
		<-v.Ended()
		v.gaveBack(t)
		emptied(t, p)
	})
	t.Run("Ctrl-C is the command's", func(t *testing.T) {
		v := view(t, 240, 60, "--data-dir", p.dir, "learn", file)
		v.shows(t, "Enter goes on lesson-mine $")
		v.press(t, `echo beg""un; exec sleep 1000`+keyEnter)
		v.shows(t, "begun")
		v.press(t, keyCtrlC)
		v.until(t, "next prompt", func(text string) bool { return strings.Count(text, "Enter goes on lesson-mine $") == 2 })
		v.press(t, "quit"+keyEnter)
		v.ends(t)
		emptied(t, p)
	})
	t.Run("end of input", func(t *testing.T) {
		cmd := command(t, "--data-dir", p.dir, "learn", file)
		cmd.Stdin = strings.NewReader("")
		refused(t, cmd, 1, "the input ended")
		emptied(t, p)
	})
	t.Run("end of the control plane", func(t *testing.T) {
		v := view(t, 240, 60, "--data-dir", p.dir, "learn", file)
		v.shows(t, "Enter goes on lesson-mine $")
		p.stop(t, syscall.SIGTERM)
		v.press(t, keyEnter)
		v.shows(t, "the control plane has ended meanwhile")
		<-v.Ended()
	})
}
