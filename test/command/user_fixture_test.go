package command_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// user runs commands with one home folder and one folder for temporary files, as the
// user of a machine does.
type user struct {
	home string
	env  []string
}

func newUser(t *testing.T) user {
	t.Helper()
	first := program.Command(t)
	return user{first.Dir, first.Env}
}

func (u user) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := program.Command(t, args...)
	cmd.Dir, cmd.Env = u.home, u.env
	return cmd
}

// mustRun runs a command that has to succeed.
func (u user) mustRun(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, code := program.Run(t, u.command(t, args...))
	if code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, stderr)
	}
	return stdout, stderr
}

// up starts a control plane in the foreground and returns when other verbs find it by
// the given name.
func (u user) up(t *testing.T, name string, args ...string) *program.ControlPlane {
	t.Helper()
	p := program.Start(t, u.command(t, append([]string{"up", "--ui", "none"}, args...)...), "")
	p.Await(t, "ready", func() bool {
		_, _, code := program.Run(t, u.command(t, "--name", name, "status"))
		return code == 0
	})
	return p
}

// requireText checks that a text contains all others.
func requireText(t *testing.T, text string, all ...string) {
	t.Helper()
	for _, want := range all {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
