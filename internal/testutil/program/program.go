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
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// pathEnv names a program that is already built.
const pathEnv = "CTRLPLANE"

// Timeout bounds each wait of a test for a single condition.
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
	if signal.Ignored(syscall.SIGHUP) { // as by nohup: the programs would inherit that
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
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

const (
	// endMargin is how long before the deadline of the tests a command is asked to end, and killMargin when
	// it is killed: a shell ignores SIGQUIT. What it printed is lost unless its test ends before the deadline.
	endMargin, killMargin = 30 * time.Second, 20 * time.Second
	// outputDelay is for how long the output of a command is awaited that has ended, while processes that it
	// has left hold it.
	outputDelay = 5 * time.Second
)

// slowStart matches the warnings of a start that takes long, as on a busy machine.
var slowStart = regexp.MustCompile(`(?m)^.*warning: the start takes long: .*\n`)

// WithoutSlowStart returns what was printed to stderr without the warnings of a start that takes long.
func WithoutSlowStart(stderr string) string { return slowStart.ReplaceAllString(stderr, "") }

// incompleteStatus is what "status" says, and fails, if it could not look for unhealthy objects in
// time, as on a busy machine.
const incompleteStatus = "cannot look for unhealthy objects: timed out"

// Run runs a command to its end and returns what it printed, as WithoutSlowStart does, and its exit code.
// How long a script takes depends on the machine: only the deadline of the tests bounds it. A status
// that is incomplete is asked for again.
func Run(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	again := exec.Cmd{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir}
	stdout, stderr, code = runOnce(t, cmd)
	for limit := time.Now().Add(Timeout); strings.Contains(stderr, incompleteStatus) && again.Path == path && time.Now().Before(limit); {
		next := again
		stdout, stderr, code = runOnce(t, &next)
	}
	return stdout, stderr, code
}

func runOnce(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errOut, outputDelay
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer endBeforeDeadline(t, cmd)()
	err := cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatal(err)
	}
	return out.String(), WithoutSlowStart(errOut.String()), cmd.ProcessState.ExitCode()
}

// endBeforeDeadline ends a command shortly before the deadline of the tests, with the stacks of
// its goroutines if it is the program, unless cancel is called.
func endBeforeDeadline(t *testing.T, cmd *exec.Cmd) (cancel func()) {
	deadline, ok := t.Deadline()
	if !ok {
		return func() {}
	}
	kill := time.AfterFunc(time.Until(deadline)-killMargin, func() { _ = cmd.Process.Kill() })
	quit := time.AfterFunc(time.Until(deadline)-endMargin, func() {
		t.Errorf("%v still runs shortly before the deadline of the tests", cmd.Args)
		_ = cmd.Process.Signal(syscall.SIGQUIT)
	})
	return func() { quit.Stop(); kill.Stop() }
}

// Signal sends a signal to the process of a command.
func Signal(t *testing.T, cmd *exec.Cmd, sig os.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
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

// AwaitFailure runs a verb as AwaitTimeout does, until stderr contains all the given texts, wherever its
// lines are broken.
func (p *ControlPlane) AwaitFailure(t *testing.T, timeout time.Duration, args []string, texts ...string) {
	t.Helper()
	p.AwaitTimeout(t, timeout, args, func(stderr string, _ time.Duration) bool {
		flat := strings.Join(strings.Fields(stderr), " ")
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(flat, text) })
	})
}

// AwaitTimeout runs a verb with the control plane, which must fail with exit code 1, until isWanted accepts
// its stderr. Its --timeout is doubled each time: on a slow machine a verb may end before the control plane
// has answered.
func (p *ControlPlane) AwaitTimeout(t *testing.T, timeout time.Duration, args []string, isWanted func(stderr string, timeout time.Duration) bool) {
	t.Helper()
	for ; ; timeout *= 2 {
		_, stderr, code := Run(t, Command(t, slices.Concat([]string{"--data-dir", p.Dir}, args, []string{"--timeout", timeout.String()})...))
		if code != 1 {
			t.Fatalf("%v: exit code %d: %s", args, code, stderr)
		}
		if isWanted(stderr, timeout) {
			return
		}
		if timeout > Timeout {
			t.Fatalf("%v: got %q within %v", args, stderr, timeout)
		}
	}
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
