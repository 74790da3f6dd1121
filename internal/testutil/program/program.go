// Package program runs the built ctrlplane program for tests, as a user would. It
// links no Kubernetes server.
//
// A package that uses it has to call Main:
//
//	func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
package program

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// pathEnv names a program that is already built.
const pathEnv = "CTRLPLANE"

// Timeout bounds each wait of a test.
const Timeout = time.Minute

// parallel is how many tests run in parallel by default: each has a control plane of its
// own, and waits for it more than half of the time.
const parallel = 4

var path string // set by Main, before any test runs

// Path returns the path of the program.
func Path() string { return path }

// Main builds the program, unless the environment variable CTRLPLANE names one,
// runs the tests, and returns their exit code.
func Main(m *testing.M) int {
	if err := testutil.SetParallel(parallel); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if path = os.Getenv(pathEnv); path != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "ctrlplane-program-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if path, err = Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// Build builds the program into a folder and returns its path.
func Build(dir string) (string, error) {
	const module = "github.com/ctrlplane/ctrlplane"
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("go list -m %s: %w", module, err)
	}
	binary := filepath.Join(dir, "ctrlplane")
	cmd := exec.Command("go", "build", "-o", binary, "./cmd/ctrlplane")
	cmd.Dir = strings.TrimSpace(string(root)) // another module need not require all that the program does
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
}

// Command returns a command that runs the program with a home folder and a
// temporary folder of its own. Its working directory is the home folder.
func Command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home+"/state", "TMPDIR="+home, "KUBECONFIG="+home+"/user.kubeconfig")
	return cmd
}

// Run runs a command to its end and returns what it printed and its exit code. A
// command that takes longer than Timeout is killed.
func Run(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	stop := time.AfterFunc(Timeout, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	if err := cmd.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// MustRun runs the program with the control plane in a data folder, fails the test
// unless it succeeds, and returns what it printed.
func MustRun(t *testing.T, dir string, args ...string) string {
	t.Helper()
	stdout, stderr, code := Run(t, Command(t, append([]string{"--data-dir", dir}, args...)...))
	if code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, stderr)
	}
	return stdout
}

// RequireFailure checks that a command fails as the program should: with the given
// exit code, and with one line on stderr that contains all the given texts.
func RequireFailure(t *testing.T, cmd *exec.Cmd, code int, texts ...string) {
	t.Helper()
	_, stderr, got := Run(t, cmd)
	if got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	line := strings.TrimSuffix(stderr, "\n")
	if !strings.HasPrefix(line, "ctrlplane: ") || strings.Contains(line, "\n") {
		t.Errorf("stderr is not one line that begins with the program's name: %q", stderr)
	}
	for _, text := range texts {
		if !strings.Contains(line, text) {
			t.Errorf("%q does not contain %q", line, text)
		}
	}
}
