//go:build unix

package devloop

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// startHeld starts a program that a gate holds, and that writes a file when it begins.
func startHeld(t *testing.T) (g *Gate, cmd *exec.Cmd, began string) {
	t.Helper()
	ready := make(chan struct{})
	g, err := NewGate(t.TempDir(), ready)
	if err != nil {
		t.Fatal(err)
	}
	began = filepath.Join(t.TempDir(), "began")
	cmd = exec.Command("sh", "-c", g.ExecFlag()+` sh -c 'echo >"$0"' "$0"`, began)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-ready
	return g, cmd, began
}

func TestGateHoldsProgram(t *testing.T) {
	g, cmd, began := startHeld(t)
	if _, err := os.Stat(began); !os.IsNotExist(err) {
		t.Errorf("the program has begun before Open: %v", err)
	}
	if err := g.Open(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(began); err != nil {
		t.Error(err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(g.dir); !os.IsNotExist(err) {
		t.Errorf("the files are left: %v", err)
	}
}

// The program does not begin if what holds it has ended.
func TestClosedGate(t *testing.T) {
	g, cmd, began := startHeld(t)
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the command has succeeded")
	}
	if _, err := os.Stat(began); !os.IsNotExist(err) {
		t.Errorf("the program has begun: %v", err)
	}
}

// As on macOS, where the runtime does not poll named pipes.
func TestGateClosesWithBlockingRead(t *testing.T) {
	g := &Gate{dir: t.TempDir(), reading: make(chan struct{})}
	if err := g.makeFiles(); err != nil {
		t.Fatal(err)
	}
	g.ready.Fd() // makes it blocking
	ready := make(chan struct{})
	go g.awaitProgram(ready)
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-ready:
		t.Error("ready, without a program")
	default:
	}
}

// Without the error, a run would wait for a program that has come long ago.
func TestGateReportsReadError(t *testing.T) {
	ready := make(chan struct{})
	g := &Gate{dir: t.TempDir(), reading: make(chan struct{})}
	if err := g.makeFiles(); err != nil {
		t.Fatal(err)
	}
	if err := g.ready.Close(); err != nil {
		t.Fatal(err)
	}
	g.awaitProgram(ready)
	<-ready
	if err := g.Open(); err == nil || !strings.HasPrefix(err.Error(), "cannot hold the compiled program: read ") {
		t.Errorf("got %v", err)
	}
}
