package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestLearnStartsNamedControlPlane runs a lesson of a student who has a name of her own: the lesson starts a control plane
// of that name, unless there is one that is stopped.
func TestLearnStartsNamedControlPlane(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	lesson := program.WriteLesson(t, "## One\n\nText.\n\n## Two\n```run\nrun: ctrlplane --name ann status > /dev/null\n```\n")
	cmd := inHome(program.Command(t, "learn", "--name", "ann", lesson), home)
	cmd.Stdin = strings.NewReader("\nquit\n")
	stdout, stderr, code := program.Run(t, cmd)
	for _, want := range []string{"Control plane \"ann\" is not running: starting one for the lesson", "$ ctrlplane --name ann status", "To continue at step 2: "} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, %q is missing, stderr %q, stdout:\n%s", code, want, stderr, stdout)
		}
	}
	if list, _, _ := program.Run(t, inHome(program.Command(t, "list"), home)); strings.Contains(list, "ann") {
		t.Errorf("the control plane is still there:\n%s", list)
	}
	program.RequireFailure(t, inHome(program.Command(t, "learn", "--resume"), home), 1, "nothing to resume")
	if err := os.MkdirAll(filepath.Join(home, "state", "ctrlplane", "bob"), 0o700); err != nil {
		t.Fatal(err)
	}
	program.RequireFailure(t, inHome(program.Command(t, "learn", "--name", "bob", lesson), home), 1, "control plane \"bob\" is not running: start it with ", "--name bob up -d")
}
