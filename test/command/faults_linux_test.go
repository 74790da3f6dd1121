package command_test

import (
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
	p := program.Up(t, filepath.Join(t.TempDir(), "data"))
	if err := unix.Prlimit(p.Cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1000, Max: 1000}, nil); err != nil {
		t.Fatal(err)
	}
	// A write, in case that nothing writes by itself. It may fail.
	_, _ = p.Client(t).CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	select {
	case <-p.Done:
	case <-time.After(20 * time.Second):
		t.Fatal("it still runs after 20 s")
	}
	if code := p.Cmd.ProcessState.ExitCode(); code != 1 || strings.Count(p.Stderr.String(), "etcd ended: ") != 1 || strings.Count(p.Stderr.String(), "ulimit -f") != 1 {
		t.Errorf("exit code %d: %s", code, p.Stderr)
	}
}

func TestEndWithoutDataFolderIsAFailure(t *testing.T) {
	p := program.Up(t, filepath.Join(t.TempDir(), "data"))
	if err := os.RemoveAll(p.Dir); err != nil {
		t.Fatal(err)
	}
	p.Stop(t, syscall.SIGTERM)
	if code := p.Cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(p.Stderr.String(), "was removed while it was in use") {
		t.Errorf("exit code %d: %s", code, p.Stderr)
	}
}
