package command_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sys/unix"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestEndsSoonWhenItCannotWrite sets a limit to the size of files. The commit that fails
// leaves the store locked: neither the API server nor the view may wait for it.
func TestEndsSoonWhenItCannotWrite(t *testing.T) {
	t.Parallel()
	p := program.Up(t, filepath.Join(t.TempDir(), "data"), minimal()...)
	configMaps := p.Client(t).CoreV1().ConfigMaps("default")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	writing := make(chan struct{})
	go func() { // so that there is something to commit when the limit is set: later writes are refused before that
		for n := 0; ctx.Err() == nil; n++ {
			// It fails once the limit is set.
			_, _ = configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}, metav1.CreateOptions{})
			if n == 0 {
				close(writing)
			}
		}
	}()
	<-writing
	if err := unix.Prlimit(p.Cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1000, Max: 1000}, nil); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done:
	case <-time.After(program.Timeout): // what waits for the store waits for ever
		_ = p.Cmd.Process.Signal(unix.SIGQUIT) // for the stacks of what waits
		<-p.Done
		t.Fatalf("it still runs after %v: %s", program.Timeout, p.Stderr)
	}
	if code := p.Cmd.ProcessState.ExitCode(); code != 1 || strings.Count(p.Stderr.String(), "etcd ended: ") != 1 || strings.Count(p.Stderr.String(), "ulimit -f") != 1 {
		t.Errorf("exit code %d: %s", code, p.Stderr)
	}
}

// TestRemovedDataFolderIsNoticed removes the data folder of a control plane, which says so
// soon and goes on, and fails at its end.
func TestRemovedDataFolderIsNoticed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	cmd := program.Command(t, append([]string{"up", "--ui", "json", "--data-dir", dir}, minimal()...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := program.Start(t, cmd, dir)
	p.Await(t, "started", func() bool { return program.HasStarted(dir) })
	client := p.Client(t)
	p.Await(t, "without its data folder", func() bool { return os.RemoveAll(dir) == nil }) // it may create a file meanwhile
	noticed := false
	deadline := time.AfterFunc(program.Timeout, p.Kill)
	for lines := bufio.NewReader(out); !noticed; { // a line may be longer than a Scanner takes
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		noticed = strings.Contains(line, "data folder "+dir+" was removed while it is in use")
	}
	deadline.Stop()
	if !noticed {
		t.Error("its output does not say that the data folder was removed")
	}
	go io.Copy(io.Discard, out) // until its end
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Errorf("get: %v", err)
	}
	p.Stop(t, syscall.SIGTERM)
	if code := p.Cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(p.Stderr.String(), "was removed while it is in use") || !strings.Contains(p.Stderr.String(), "was removed while it was in use") {
		t.Errorf("exit code %d: %s", code, p.Stderr)
	}
}
