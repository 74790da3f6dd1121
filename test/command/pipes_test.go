//go:build unix

package command_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// newPipe returns the path of a named pipe.
func newPipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// awaitReader waits until a process reads from a named pipe, and returns its other end.
func awaitReader(t *testing.T, path string) *os.File {
	t.Helper()
	var end *os.File
	testutil.Await(t, "a reader of the pipe", func() (opened bool) {
		var err error
		end, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0) // fails without a reader
		return err == nil
	})
	return end
}

// TestReadingAPipeIsInterrupted has verbs wait for what is written to a named pipe.
func TestReadingAPipeIsInterrupted(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"up":           {"up", "--ephemeral", "--ui", "none", "-f"},
		"up --detach":  {"up", "--ephemeral", "--detach", "--from"},
		"wait":         {"wait", "-f"},
		"restore":      {"snapshot", "restore"},
		"first of two": {"snapshot", "diff"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pipe := newPipe(t)
			cmd := program.Command(t, append(args, pipe)...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill() // it has ended, unless the test fails
			defer awaitReader(t, pipe).Close()
			program.Signal(t, cmd, syscall.SIGTERM)
			_ = cmd.Wait() // its ProcessState has the result
			if code := cmd.ProcessState.ExitCode(); code != 1 || stderr.String() != "ctrlplane: interrupted\n" {
				t.Errorf("exit code %d: %s", code, &stderr)
			}
		})
	}
}

// TestStartFromPipes starts control planes from what can be read only once.
func TestStartFromPipes(t *testing.T) {
	t.Parallel()
	k := newSnapshotFixture(t)
	file := filepath.Join(t.TempDir(), "base.snapshot")
	k.mustRunScript(`"$0" run $MINIMAL -- sh -c '"$0" kubectl create configmap saved && exec "$0" snapshot save "$1"' "$0" "$1"`, file)
	const list = `kubectl get configmap saved given -o name`
	for name, script := range map[string]string{
		"run": `cat "$1" >"$2" & "$0" run $MINIMAL --from "$2" -f /dev/stdin --settle --timeout 10m --healthy -- "$0" ` + list,
		"up": `cat "$1" >"$2" & "$0" up $MINIMAL --detach --ephemeral --from "$2" -f - >/dev/null && "$0" ` + list + `
rc=$?; "$0" down --all >/dev/null && exit $rc`,
	} {
		t.Run(name, func(t *testing.T) {
			k := newSnapshotFixture(t)
			if got := k.mustRunScript(script, file, newPipe(t)); got != "configmap/saved\nconfigmap/given\n" {
				t.Errorf("got %q", got)
			}
		})
	}
	for _, flag := range []string{"-f", "--from"} {
		program.RequireFailure(t, program.Command(t, "run", "--kubernetes", "1.36,1.37", flag, newPipe(t), "--", "true"), 2, "cannot share a pipe")
	}
	program.RequireFailure(t, program.Command(t, "dev", "-f", newPipe(t), "--", "true"), 2, "save them in a file")
}

// mustRunScript runs a script, with the program as $0, the flags of minimal in $MINIMAL and a manifest on a pipe as stdin,
// and returns its output.
func (k snapshotFixture) mustRunScript(script string, args ...string) string {
	k.t.Helper()
	cmd := k.commandWithoutDataDir()
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", script, program.Path()}, args...)
	cmd.Env = append(cmd.Env, "MINIMAL="+strings.Join(minimal(), " "))
	cmd.Stdin = strings.NewReader("{apiVersion: v1, kind: ConfigMap, metadata: {name: given}}\n")
	stdout, stderr, code := program.Run(k.t, cmd)
	if code != 0 {
		k.t.Fatalf("%s: exit code %d: %s%s", script, code, stdout, stderr)
	}
	return stdout
}
