package command_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestLimitedMemory loads a control plane that may use 320 MiB, as in a small container of CI. Go does
// not know the limits of control groups: garbage would grow beyond it, and the kernel end the process.
func TestLimitedMemory(t *testing.T) {
	t.Parallel()
	group := limitedGroup(t, 320<<20)
	dir := filepath.Join(t.TempDir(), "data")
	inside := program.Command(t, append([]string{"up", "--ui", "none", "--data-dir", dir}, minimal()...)...)
	cmd := exec.Command("sh", append([]string{"-c", `echo $$ > "$0"/cgroup.procs && exec "$@"`, group}, inside.Args...)...)
	cmd.Env, cmd.Dir = inside.Env, inside.Dir
	p := program.Start(t, cmd, dir)
	p.AwaitReady(t)
	configMaps := p.Client(t).CoreV1().ConfigMaps("default")
	if _, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "large"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("half of a mebibyte, each time ", 17_000)
	for i := range 150 {
		patch := fmt.Appendf(nil, `{"data":{"text":"%d %s"}}`, i, text)
		if _, err := configMaps.Patch(t.Context(), "large", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			select {
			case <-p.Done:
				t.Fatalf("update %d: the process has ended: %v", i, p.Cmd.ProcessState)
			default:
				t.Fatalf("update %d: %v", i, err)
			}
		}
	}
}

// limitedGroup returns the folder of a new control group whose processes may use so many bytes of
// memory. It skips the test where none can be made.
func limitedGroup(t *testing.T, limit int64) string {
	t.Helper()
	root, file := "/sys/fs/cgroup", "memory.max"
	if _, err := os.Stat(filepath.Join(root, "memory")); err == nil { // version 1
		root, file = filepath.Join(root, "memory"), "memory.limit_in_bytes"
	}
	group, err := os.MkdirTemp(root, "ctrlplane-test-")
	if err != nil {
		t.Skipf("no control group can be made here: %v", err)
	}
	t.Cleanup(func() {
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(group, file), []byte(strconv.FormatInt(limit, 10)), 0); err != nil {
		t.Skipf("the memory of a control group cannot be limited here: %v", err)
	}
	return group
}
