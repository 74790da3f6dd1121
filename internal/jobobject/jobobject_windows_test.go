package jobobject

import (
	"os"
	"os/exec"
	"testing"
)

func TestMain(m *testing.M) {
	switch os.Getenv("JOBOBJECT_TEST") {
	case "child":
		startSelf("grandchild")
		fallthrough
	case "grandchild":
		var b [1]byte
		_, _ = os.Stdin.Read(b[:]) // until the test ends
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// startSelf starts this program in a role, which it leaves when its stdin ends.
func startSelf(role string) (*exec.Cmd, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "JOBOBJECT_TEST="+role)
	cmd.Stdout = os.Stdout
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return cmd, cmd.Start()
}

func TestKill(t *testing.T) {
	cmd, err := startSelf("child")
	if err != nil {
		t.Fatal(err)
	}
	j, err := New(cmd.Process)
	if err != nil {
		t.Fatal(err)
	}
	if !j.Runs() {
		t.Error("the process does not run")
	}
	j.Kill()
	if err := cmd.Wait(); err == nil {
		t.Error("the process was not killed")
	}
	for j.Runs() { // until the test's time is over
	}
	j.Release()
	if j.Runs() {
		t.Error("a job that is released runs")
	}
}
