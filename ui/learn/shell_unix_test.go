//go:build unix

package learn

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// writerFunc is a function that gets what is written.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// timeout(1) sends its signal to ctrlplane and to the commands of the lesson, which may end first: that the
// command has failed is not why the lesson ends.
func TestCommandEndedByASignalOfItsGroup(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out writerFunc = func(p []byte) (int, error) {
		time.AfterFunc(100*time.Millisecond, cancel) // the command has ended long before
		return len(p), nil
	}
	s := &shell{dir: t.TempDir(), env: os.Environ()}
	if code, err := s.run(ctx, "echo 1; kill -TERM $$", out); code != 1 || err != nil || ctx.Err() == nil {
		t.Errorf("code %d, %v, context %v", code, err, ctx.Err())
	}
}

// This process may be killed just after a command has begun: the guard of its group begins first.
func TestGuardBeginsBeforeTheCommand(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	group, release, err := startGroup(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { group.kill(); _ = cmd.Wait(); release() }()
	leader, err := syscall.Getpgid(cmd.Process.Pid)
	if err != nil || leader != group.id || leader == cmd.Process.Pid {
		t.Errorf("the group is %d, led by %d; the command is %d; %v", group.id, leader, cmd.Process.Pid, err)
	}
}
