package command_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
	repeated := " --dir '" + files + "' --join " + class + " --as Ann\n"
	for _, tc := range []struct {
		typed string
		args  []string
		wants []string
		not   string
	}{
		{"quit\n", []string{lesson}, []string{"To begin again: ", " learn " + lesson + "\n"}, "To continue"},
		{"\nquit\n", append(flags, lesson), []string{"To continue at step 2: ", " --resume" + repeated}, "To begin again"},
		{"quit\n", append(flags, "2"), []string{" learn 2" + repeated}, "To continue"},
	} {
		out := leave(tc.typed, tc.args...)
		for _, want := range append(tc.wants, " --data-dir "+p.Dir+" learn ") {
			if strings.Count(out, want) != 1 || strings.Contains(out, tc.not) {
				t.Errorf("%q: %q is not there once, or %q is there:\n%s", tc.args, want, tc.not, out)
			}
		}
	}
	out := leave("help\nquit\n", lesson, "--resume")
	if !strings.Contains(out, "Repeating the earlier steps") || !strings.Contains(out, "mine.md --resume") {
		t.Errorf("it is not continued:\n%s", out)
	}
}

// joined are the flags of a lesson of a student, whose class is a file.
func joined(t *testing.T) (class string, flags []string) {
	t.Helper()
	class = testutil.WriteFile(t, filepath.Join(t.TempDir(), "class.jsonl"), "")
	return class, []string{"--join", class, "--as", "Ann"}
}

// requireSent checks what the class has seen last.
func requireSent(t *testing.T, class, want string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(testutil.ReadFile(t, class)), "\n")
	if got := lines[len(lines)-1]; !strings.Contains(got, want) {
		t.Errorf("sent to the class %s, want %s", got, want)
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

// testLearnCheckKnowsAllKinds checks a lesson that counts objects of each kind of a control plane, by all of its names.
func testLearnCheckKnowsAllKinds(t *testing.T, p *program.ControlPlane) {
	stdout, stderr, code := program.Run(t, program.Command(t, "--data-dir", p.Dir, "kubectl", "api-resources", "--no-headers"))
	if code != 0 {
		t.Fatal(stderr)
	}
	checks := "## One\n```run\nuntil:\n"
	for line := range strings.Lines(stdout) { // NAME [SHORTNAMES] APIVERSION NAMESPACED KIND
		fields := strings.Fields(line)
		names := []string{fields[0], fields[len(fields)-1]}
		if len(fields) == 5 {
			names = append(names, strings.Split(fields[1], ",")...)
		}
		for _, name := range names {
			checks += "- {count: " + name + "}\n"
		}
	}
	_, stderr, code = program.Run(t, program.Command(t, "learn", "--check", program.WriteLesson(t, checks+"```\n")))
	if code != 0 || stderr != "" || strings.Count(checks, "count: ") < 100 {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr)
	}
}
