package jobobject

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/windows"
)

const endTimeout = 10_000 // milliseconds from Kill to the end of a process

func TestMain(m *testing.M) {
	switch os.Getenv("JOBOBJECT_TEST") {
	case "child":
		awaitByte()
		grandchild := self("grandchild", os.Stdin)
		grandchild.Stdout = os.Stdout
		if grandchild.Run() != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case "grandchild":
		fmt.Println(os.Getpid())
		awaitByte()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// awaitByte returns when the test has written a byte to stdin, or closed it.
func awaitByte() {
	var b [1]byte
	_, _ = os.Stdin.Read(b[:])
}

// self is the command of this program in a role.
func self(role string, stdin *os.File) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "JOBOBJECT_TEST="+role)
	cmd.Stdin = stdin
	return cmd
}

// TestKill checks that what a process starts ends with it, although its stdin stays open.
func TestKill(t *testing.T) {
	stdin, input, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	defer input.Close() // ends what was not killed
	cmd := self("child", stdin)
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	j, err := New(cmd.Process)
	if err != nil {
		t.Fatal(err)
	}
	if !j.Runs() {
		t.Error("the process does not run")
	}
	if _, err := input.Write([]byte{0}); err != nil { // from now on, what it starts is in the job
		t.Fatal(err)
	}
	var pid uint32
	if _, err := fmt.Fscan(output, &pid); err != nil {
		t.Fatal(err)
	}
	grandchild, err := windows.OpenProcess(windows.SYNCHRONIZE, false, pid)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = windows.CloseHandle(grandchild) }()

	j.Kill()
	if err := cmd.Wait(); err == nil {
		t.Error("the process was not killed")
	}
	if event, err := windows.WaitForSingleObject(grandchild, endTimeout); event != windows.WAIT_OBJECT_0 {
		t.Fatalf("what the process has started was not killed: %#x, %v", event, err)
	}
	for j.Runs() { // until the test's time is over
	}
	j.Release()
	if j.Runs() {
		t.Error("a job that is released runs")
	}
}
