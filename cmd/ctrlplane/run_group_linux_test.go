package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// passingMake stands for make, but does not pass SIGTERM on: it lets what it runs end, which then
// says how many it got.
const passingMake = `#!/bin/sh
exec 3<>may-end
trap 'echo >&3; wait; exit 143' TERM
sh counting.sh &
wait
`

const countingProgram = `
n=0
trap 'n=$((n+1))' TERM
echo runs
until read -r _ <&3; do :; done
echo got $n
`

// TestTerminateLeavesToMakeWhatItRuns has make pass SIGTERM on itself: with another one from here, a
// program would get two.
func TestTerminateLeavesToMakeWhatItRuns(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := exec.CommandContext(t.Context(), "mkfifo", "may-end").Run(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"make": passingMake, "counting.sh": countingProgram} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	out, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := newProcess(&exec.Cmd{Path: filepath.Join(dir, "make"), Args: []string{"make"}, Stdout: to, Stderr: to})
	c.ownGroup = true
	err = c.startProcess()
	if closeErr := to.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
	defer func() {
		c.killGroup()
		<-c.exited
	}()
	lines := bufio.NewScanner(out)
	requireLine := func(want string) {
		t.Helper()
		if lines.Scan(); lines.Text() != want {
			t.Fatalf("got %q, want %q", lines.Text(), want)
		}
	}
	requireLine("runs")
	c.terminate()
	requireLine("got 0")
	<-c.exited
	if code, err := c.exitCode(); code != 143 || err != nil {
		t.Errorf("exit code %d, %v; want 143", code, err)
	}
}
