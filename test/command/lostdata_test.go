package command_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestLostDataIsNotReplacedByAnEmptyStore removes parts of the data folder.
func TestLostDataIsNotReplacedByAnEmptyStore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	program.Up(t, dir, "--nodes", "0").Stop(t, syscall.SIGTERM)
	for _, lost := range []string{"etcd/member", "etcd"} {
		if err := os.RemoveAll(filepath.Join(dir, lost)); err != nil {
			t.Fatal(err)
		}
		program.RequireFailure(t, program.Command(t, "up", "--ui", "none", "--data-dir", dir), 1, filepath.Join(dir, "etcd")+" holds no data", "use another data folder to start empty")
	}
}
