package command_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestDiskFullRefusesWritesAndServesReads fills the disk of a control plane and makes
// room again.
func TestDiskFullRefusesWritesAndServesReads(t *testing.T) {
	t.Parallel()
	if !testutil.InSandbox(t, 0) {
		return
	}
	disk := testutil.MountTmpfs(t, "size=160m")
	p := program.Up(t, filepath.Join(disk, "data"), minimal()...)
	configMaps := p.Client(t).CoreV1().ConfigMaps("default")
	create := func(name string) error {
		_, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
	if err := create("before"); err != nil {
		t.Fatal(err)
	}
	var free syscall.Statfs_t
	if err := syscall.Statfs(disk, &free); err != nil {
		t.Fatal(err)
	}
	ballast := testutil.WriteFile(t, filepath.Join(disk, "ballast"), make([]byte, int64(free.Bavail)*free.Bsize-20<<20))
	var refused error
	p.Await(t, "full", func() bool {
		refused = create("x")
		_ = configMaps.Delete(t.Context(), "x", metav1.DeleteOptions{}) // may be refused
		return refused != nil
	})
	status := apierrors.APIStatus(nil)
	if s, ok := refused.(apierrors.APIStatus); ok {
		status = s
	}
	if status == nil || status.Status().Code != http.StatusInsufficientStorage || !strings.Contains(refused.Error(), "all writes are refused: the disk of "+p.Dir) || !strings.Contains(refused.Error(), "free space there") {
		t.Errorf("create: got %v", refused)
	}
	if _, err := configMaps.Get(t.Context(), "before", metav1.GetOptions{}); err != nil {
		t.Errorf("get: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	p.Await(t, "writable again", func() bool { return create("after") == nil })
	p.Await(t, "reporting that", func() bool { // it may go up and down, so that takes some seconds
		log, err := os.ReadFile(filepath.Join(p.Dir, "ctrlplane.log"))
		return err == nil && strings.Contains(string(log), "the disk has room again")
	})
	p.Stop(t, syscall.SIGTERM)
	if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, text := range []string{"all writes are refused: the disk of ", "the disk has room again"} {
		if strings.Count(p.Stderr.String(), text) != 1 {
			t.Errorf("stderr does not say once %q:\n%s", text, p.Stderr)
		}
	}
}
