//go:build unix

package command_test

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestStateFolderThatCannotBeEntered has a HOME that cannot be entered, as in a container with the user ID of
// another image: a file, because root enters every folder. Ephemeral control planes need no state folder.
func TestStateFolderThatCannotBeEntered(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	file := testutil.WriteFile(t, filepath.Join(t.TempDir(), "file"), "")
	u.env = append(slices.Clip(u.env), "HOME="+file, "XDG_STATE_HOME=")
	const cannot, remedy = "state folder ", "cannot be entered (not a directory): set XDG_STATE_HOME to a folder of yours"
	for _, args := range [][]string{{"list"}, {"down"}, {"down", "--all"}, {"status"}, {"--name", "ephemeral", "status"}, {"--name", "ephemeral", "down"},
		{"up", "--ui", "none"}, {"snapshot", "save", "a"}, {"snapshot", "list"}, {"learn", "1"}} {
		program.RequireFailure(t, u.command(t, args...), 1, cannot+file, remedy)
	}
	program.RequireFailure(t, u.command(t, "run", "--from", "a", "--", "true"), 125, cannot+file, remedy, "or name a file, such as ./a")
	if _, stderr := u.mustRun(t, "learn", "--list"); !strings.Contains(stderr, "your progress is not known: "+cannot) {
		t.Errorf("learn --list: %s", stderr)
	}
	testEphemeralWithoutStateFolder(t, u, cannot)
}

// TestNoHome has no HOME at all, as under env -i.
func TestNoHome(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.env = append(slices.Clip(u.env), "HOME=", "XDG_STATE_HOME=")
	const why = "HOME is not set: set it, or XDG_STATE_HOME to a folder of yours"
	program.RequireFailure(t, u.command(t, "up", "--ui", "none"), 1, why)
	program.RequireFailure(t, u.command(t, "list"), 1, why)
	testEphemeralWithoutStateFolder(t, u, why)
}

func testEphemeralWithoutStateFolder(t *testing.T, u user, why string) {
	t.Helper()
	p := u.upEphemeral(t)
	for _, args := range [][]string{{"--name", "ephemeral", "status"}, {"status"}} {
		u.mustRun(t, args...)
	}
	if stdout, stderr := u.mustRun(t, "list"); !strings.Contains(stdout, "ephemeral") || !strings.Contains(stderr, "warning: named control planes cannot be listed: ") || !strings.Contains(stderr, why) {
		t.Errorf("list: %s%s", stdout, stderr)
	}
	u.mustRun(t, "--name", "ephemeral", "snapshot", "save", "./a")
	if stdout, _ := u.mustRun(t, append([]string{"run", "--from", "./a"}, minimal("--", program.Path(), "list", "-o", "name")...)...); stdout != "run\nephemeral\n" && stdout != "ephemeral\nrun\n" {
		t.Errorf("list within run: %q", stdout)
	}
	if stdout, _ := u.mustRun(t, "down", "--all"); !strings.HasPrefix(stdout, `control plane "ephemeral" in `) || !strings.HasSuffix(stdout, " stopped\n") {
		t.Errorf("down --all: %s", stdout)
	}
	<-p.Done
	d := program.Start(t, u.command(t, append([]string{"dev", "--ui", "none"}, minimal("--", "sleep", "100")...)...), "")
	d.Await(t, "ready", func() bool {
		_, _, code := program.Run(t, u.command(t, "--name", "dev", "status"))
		return code == 0
	})
	d.Stop(t, syscall.SIGTERM)
	if left := u.temporaryFolders(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
