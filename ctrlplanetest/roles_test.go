package ctrlplanetest_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/ctrlplanetest"
	"github.com/ctrlplane/ctrlplane/internal/childproc"
)

// roleEnv makes this test binary play the ctrlplane program or a process of tests.
const roleEnv = "CTRLPLANETEST_ROLE"

// roles are the functions for each role. They return the exit code.
var roles = map[string]func() int{
	"chatterbox": func() int { fmt.Println("hello, this is not ctrlplane"); return waitForEOF() },
	"newer":      func() int { fmt.Println(`{"protocol":99,"version":"v9.9.9"}`); return waitForEOF() },
	"older": func() int {
		fmt.Fprintln(os.Stderr, `ctrlplane: unknown verb "child": see "ctrlplane --help"`)
		return 2
	},
	"mute": waitForEOF,
	"no file": func() int {
		fmt.Printf(`{"protocol":%d,"kubeconfig":"/no/such/file"}`+"\n", childproc.ProtocolVersion)
		return waitForEOF()
	},
	"crashing": func() int { fmt.Fprintln(os.Stderr, "some line\nctrlplane: the disk is full"); return 1 },
	"victim":   playVictim,
}

func playRole(role string) int { return roles[role]() }

// waitForEOF reads stdin to its end.
func waitForEOF() int {
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return 3
	}
	return 0
}

// playVictim uses a control plane until the process is killed.
func playVictim() int {
	t := newRecorder("Victim")
	cp := ctrlplanetest.Start(t)
	fmt.Println(cp.Kubeconfig())
	return waitForEOF()
}

// fakeProgram returns options with this test binary, in a role, as the program.
func fakeProgram(t *testing.T, role string) ctrlplanetest.Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(roleEnv, role)
	return ctrlplanetest.Options{Backend: ctrlplanetest.Binary{Path: self}, StartTimeout: 2 * time.Minute}
}

// startRole starts this test binary in a role and returns the first line it prints.
func startRole(t *testing.T, role string) (cmd *exec.Cmd, line string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd, line
}
