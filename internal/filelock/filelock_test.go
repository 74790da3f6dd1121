package filelock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestTryLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if _, err := TryLock(path, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	held, err := TryLock(path, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, create := range []bool{true, false} {
		if _, err := TryLock(path, create); !errors.Is(err, ErrHeld) {
			t.Errorf("a lock that is held: %v", err)
		}
	}
	if _, err := held.WriteString("owner"); err != nil {
		t.Error(err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := TryLock(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(path), again.Close()); err != nil {
		t.Errorf("a lock whose file is removed: %v", err)
	}
}

func TestIsHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if _, err := IsHeld(path); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	lock, err := TryLock(path, true)
	if err != nil {
		t.Fatal(err)
	}
	if held, err := IsHeld(path); !held || err != nil {
		t.Errorf("a lock that is held: %t, %v", held, err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if held, err := IsHeld(path); held || err != nil {
		t.Errorf("a lock that is free: %t, %v", held, err)
	}
}
