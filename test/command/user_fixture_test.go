package command_test

import (
	"os/exec"
	"path/filepath"
	"slices"
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

// minimal adds flags to those of "up" or "run" if the control plane need not do anything: without
// nodes, scheduler and nearly all controllers it starts and stops sooner.
func minimal(args ...string) []string {
	return append([]string{"--nodes=0", "--no-scheduler", "--controllers=namespace"}, args...)
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

// up starts a control plane in the foreground and returns when other verbs find it: in the data
// folder of its name.
func (u user) up(t *testing.T, name string, args ...string) *program.ControlPlane {
	t.Helper()
	cmd := u.command(t, append([]string{"up", "--ui", "none"}, args...)...)
	p := program.Start(t, cmd, filepath.Join(u.home, "state", "ctrlplane", name))
	p.AwaitReady(t)
	return p
}

// upEphemeral is up of a control plane without a name, whose data folder is temporary.
func (u user) upEphemeral(t *testing.T) *program.ControlPlane {
	t.Helper()
	others := u.temporaryFolders(t)
	p := program.Start(t, u.command(t, append([]string{"up", "--ui", "none", "--ephemeral"}, minimal()...)...), "")
	p.Await(t, "in a new folder", func() bool {
		for _, dir := range u.temporaryFolders(t) {
			if !slices.Contains(others, dir) {
				p.Dir = dir
			}
		}
		return p.Dir != ""
	})
	p.AwaitReady(t)
	return p
}

func (u user) temporaryFolders(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(u.home, "ctrlplane-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
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
