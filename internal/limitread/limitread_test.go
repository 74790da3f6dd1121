package limitread

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("1234"), 0o600); err != nil {
		t.Fatal(err)
	}
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
