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

// TestLimitedMemory loads a control plane that may use 320 MiB, as in a small container of CI. Go does
// not know the limits of control groups: garbage would grow beyond it, and the kernel end the process.
func TestLimitedMemory(t *testing.T) {
	t.Parallel()
	group, err := controlgroup.New(320 << 20)
	if err != nil {
		t.Skipf("no control group with limited memory can be made here: %v", err)
	}
	t.Cleanup(func() {
		if err := group.Remove(); err != nil {
			t.Error(err)
		}
	})
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
