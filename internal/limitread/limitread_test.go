package limitread

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestFile(t *testing.T) {
	path := testutil.WriteFile(t, filepath.Join(t.TempDir(), "file"), "1234")
	if data, err := File(path, 4); err != nil || string(data) != "1234" {
		t.Errorf("a file at the limit: %q, %v", data, err)
	}
	if _, err := File(path, 3); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("a file beyond the limit: %v", err)
	}
	if _, err := File(path+"x", 3); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if runtime.GOOS != "windows" {
		if _, err := File("/dev/zero", 1<<20); !errors.Is(err, syscall.EFBIG) {
			t.Errorf("a device without an end: %v", err)
		}
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if n, err := Await(ctx, func() (int, error) { return 1, nil }); n != 1 || err != nil {
		t.Errorf("a read that ends: %d, %v", n, err)
	}
	block := make(chan struct{})
	defer close(block)
	_, err := Await(ctx, func() (int, error) {
		cancel()
		<-block
		return 1, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a read that blocks: %v", err)
	}
}
