package command_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

const twoSteps = "## One\n\nText.\n\n## Two\n\nMore.\n"

// inHome makes a command that runs lessons one of the given user.
func inHome(cmd *exec.Cmd, home string) *exec.Cmd {
	cmd.Env = append(cmd.Env, "HOME="+home, "XDG_STATE_HOME="+filepath.Join(home, "state"))
	return cmd
}

// testLearnSaysHowToContinue leaves a lesson: only after its first step can it be continued,
// and that also when another lesson was begun in the meantime.
func testLearnSaysHowToContinue(t *testing.T, p *program.ControlPlane) {
	lesson := program.WriteLesson(t, twoSteps)
	home := t.TempDir()
	leave := func(typed string, args ...string) string {
		cmd := inHome(program.Command(t, append([]string{"--data-dir", p.Dir, "learn"}, args...)...), home)
		cmd.Stdin = strings.NewReader(typed)
		stdout, stderr, code := program.Run(t, cmd)
		if code != 0 {
			t.Fatalf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
		}
		return stdout
	}
	files, class := filepath.Join(home, "my files"), filepath.Join(home, "class.jsonl")
	flags := []string{"--dir", files, "--join", class, "--as", "Ann"}
	repeated := " --dir '" + files + "' --join " + class + " --as Ann"
	if out := leave("quit\n", append(flags, "2")...); !strings.Contains(out, " learn 2"+repeated+"\n") {
		t.Errorf("%s is missing:\n%s", repeated, out)
	}
	if out := leave("\nquit\n", append(flags, lesson)...); strings.Count(out, " --resume"+repeated+"\n") != 1 {
		t.Errorf("%s is missing:\n%s", repeated, out)
	}
	for _, tc := range []struct{ typed, lesson, want, not string }{
		{"quit\n", lesson, "To begin again: ", "To continue"},
		{"\nquit\n", lesson, "To continue at step 2: ", "To begin again"},
		{"quit\n", "2", " learn 2\n", "To continue"},
	} {
		if out := leave(tc.typed, tc.lesson); !strings.Contains(out, tc.want) || strings.Contains(out, tc.not) || !strings.Contains(out, " --data-dir "+p.Dir+" learn ") {
			t.Errorf("%s: %q is missing, or %q is there:\n%s", tc.lesson, tc.want, tc.not, out)
		}
	}
	out := leave("help\nquit\n", lesson, "--resume")
	if !strings.Contains(out, "Repeating the earlier steps") || !strings.Contains(out, "mine.md --resume") {
		t.Errorf("it is not continued:\n%s", out)
	}
}

// testLearnSaysThatItHasEnded has lessons of a student that end by an error, and complete: the class sees either.
func testLearnSaysThatItHasEnded(t *testing.T, p *program.ControlPlane) {
	for text, want := range map[string]string{
		twoSteps + "```run\nrun: exit 3\n```\n": `"step":2,"of":2,"state":"left"`,
		twoSteps:                                `"step":2,"of":2,"state":"done"`,
	} {
		class := newClassFile(t)
		cmd := program.Command(t, "--data-dir", p.Dir, "learn", "--auto", program.WriteLesson(t, text), "--join", class, "--as", "Ann")
		_, stderr, _ := program.Run(t, cmd)
		if got := lastLine(t, class); !strings.Contains(got, want) {
			t.Errorf("sent %s, want %s; stderr %q", got, want, stderr)
		}
	}
}

// newClassFile creates the file of a class.
func newClassFile(t *testing.T) string {
	t.Helper()
	return testutil.WriteFile(t, filepath.Join(t.TempDir(), "class.jsonl"), "")
}

func lastLine(t *testing.T, path string) string {
	t.Helper()
	data := testutil.ReadFile(t, path)
	lines := strings.Split(strings.TrimSpace(data), "\n")
	return lines[len(lines)-1]
}

// testLearnSecondOnOneControlPlane says what else to do than to stop the first one.
func testLearnSecondOnOneControlPlane(t *testing.T, p *program.ControlPlane) {
	lesson := program.WriteLesson(t, twoSteps)
	first := program.Command(t, "--data-dir", p.Dir, "learn", lesson)
	in, err := first.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	p.Await(t, "the first lesson", func() bool {
		_, err := p.Client(t).CoreV1().ServiceAccounts("lesson-mine").Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	second := program.Command(t, "--data-dir", p.Dir, "learn", lesson)
	program.RequireFailure(t, second, 1, "is running this lesson in namespace lesson-mine: stop it first, or use another control plane with --name")
	if _, err := in.Write([]byte("quit\n")); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); err != nil {
		t.Error(err)
	}
}

// TestLearnCheck reports all errors of a file without a control plane.
func TestLearnCheck(t *testing.T) {
	t.Parallel()
	good := program.WriteLesson(t, twoSteps)
	stdout, stderr, code := program.Run(t, program.Command(t, "learn", "--check", good))
	if code != 0 || stderr != "" || !strings.HasSuffix(stdout, "mine.md: no errors, 2 steps\n") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	bad := program.WriteLesson(t, "## One\n\n```run\nuntil:\n- {controller: job, is: runing}\n- {records: {verb: updaet}, atLeast: 1}\n```\n")
	stdout, stderr, code = program.Run(t, program.Command(t, "learn", "--check", bad))
	lines := strings.Split(stderr, "\n")
	if code != 2 || stdout != "" || len(lines) != 3 ||
		!strings.HasPrefix(lines[0], "ctrlplane: "+bad+`:10: controller: "runing"`) || !strings.HasPrefix(lines[1], "ctrlplane: "+bad+`:11: verb: "updaet"`) {
		t.Errorf("exit code %d, stdout %q, stderr:\n%s", code, stdout, stderr)
	}
}
