//go:build unix

package command_test

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestDetachedClosesInheritedFiles has a caller that waits for the end of a pipe, as bats does, and a
// manifest that is read from another one.
func TestDetachedClosesInheritedFiles(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	t.Cleanup(u.downAll)
	manifest, in := openPipe(t)
	if _, err := in.WriteString("{apiVersion: v1, kind: ConfigMap, metadata: {name: piped}}"); err != nil {
		t.Fatal(err)
	}
	r, w := openPipe(t)
	cmd := u.command(t, append([]string{"up", "-d"}, minimal("-f", "/dev/fd/4")...)...)
	cmd.ExtraFiles = []*os.File{w, manifest}
	closeFile(t, in)
	if stdout, stderr, code := program.Run(t, cmd); code != 0 {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	closeFile(t, w)
	if err := r.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("reading from the pipe that the control plane has inherited: got %v, want its end", err)
	}
	u.mustRun(t, "kubectl", "get", "configmap", "piped")
}

func openPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Close() // perhaps closed before
		_ = w.Close()
	})
	return r, w
}

func closeFile(t *testing.T, f *os.File) {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
