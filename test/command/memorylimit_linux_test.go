package command_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/internal/testutil/controlgroup"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// limitedGroup returns a control group with limited memory.
func limitedGroup(t *testing.T, memory int64) *controlgroup.Group {
	t.Helper()
	group, err := controlgroup.New(memory)
	if err != nil {
		t.Skipf("no control group with limited memory can be made here: %v", err)
	}
	t.Cleanup(func() {
		if err := group.Remove(); err != nil {
			t.Error(err)
		}
	})
	return group
}

// TestRunOutOfMemory runs commands that use all memory: the kernel ends them, not ctrlplane, which says so.
func TestRunOutOfMemory(t *testing.T) {
	t.Parallel()
	for script, tt := range map[string]struct {
		code int
		says string
	}{
		"exec tail /dev/zero":    {137, "the kernel has killed the command: the limit of 400 MiB for memory was reached"},
		"tail /dev/zero; exit 3": {3, "the kernel has killed a process while the command ran: the limit of 400 MiB for memory was reached"},
		// each of them smaller than ctrlplane
		"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do dd bs=40M count=200 if=/dev/zero of=/dev/null 2>dd & done; wait; exit 3": {3, "the kernel has killed a process while the command ran: the limit of 400 MiB for memory was reached"},
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			group := limitedGroup(t, 400<<20)
			cmd := newRunCommand(t, minimal("--report=out", "--", "sh", "-c", script)...)
			cmd.Env = withoutCIEnv(cmd.Env)
			if err := group.Enter(cmd); err != nil {
				t.Fatal(err)
			}
			_, stderr, code := program.Run(t, cmd)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			requireLastLine(t, stderr, tt.says)
			if page := readReport(t, filepath.Join(cmd.Dir, "out"))["report.html"]; !strings.Contains(page, tt.says) {
				t.Errorf("the page does not contain %q", tt.says)
			}
		})
	}
}

// TestLimitedMemory loads a control plane that may use 320 MiB, as in a small container of CI. Go does
// not know the limits of control groups: garbage would grow beyond it, and the kernel end the process.
func TestLimitedMemory(t *testing.T) {
	t.Parallel()
	group := limitedGroup(t, 320<<20)
	dir := filepath.Join(t.TempDir(), "data")
	cmd := program.Command(t, append([]string{"up", "--ui", "none", "--data-dir", dir}, minimal()...)...)
	if err := group.Enter(cmd); err != nil {
		t.Fatal(err)
	}
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
