package datadir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/filelock"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestOpenRefusesLockedDir(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d")
	_, pid, kill := startHolder(t, "open", path)
	before := readTree(t, path)

	_, err := Open(t.Context(), path, 1)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != pid || locked.Path != path {
		t.Fatalf("got %#v, want a LockedError of process %d", err, pid)
	}
	stop := fmt.Sprintf(`"kill %d"`, pid)
	if runtime.GOOS == "windows" {
		stop = "'ctrlplane --data-dir " + path + " down'"
	}
	want := fmt.Sprintf(`data folder %s is in use by process %d: stop it with %s, or choose another --name or --data-dir`, path, pid, stop)
	if got := testutil.ErrorLine(t, err); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if after := readTree(t, path); len(before) != len(after) {
		t.Errorf("before %v\nafter %v", before, after)
	}

	kill()
	mustOpen(t, path) // although a PID is recorded that no process has
}

func TestOpenRefusesDirLockedBySameProcess(t *testing.T) {
	path := t.TempDir()
	mustOpen(t, path)
	_, err := Open(t.Context(), path, 1)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Fatalf("got %#v, want a LockedError of this process", err)
	}
	want := fmt.Sprintf(`data folder %s is in use by process %d: close it there first, or choose another --name or --data-dir`, path, os.Getpid())
	if got := testutil.ErrorLine(t, err); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// lockWithoutOwner locks a folder as a process does that has not recorded its PID, or that only
// looks whether another one uses it.
func lockWithoutOwner(t *testing.T, path string) *os.File {
	t.Helper()
	mustClose(t, mustOpen(t, path))
	lock, err := tryLock(path, false)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

func TestOpenRefusesDirOfUnknownProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d")
	lock := lockWithoutOwner(t, path)
	defer lock.Close()
	synctest.Test(t, func(t *testing.T) {
		_, err := Open(t.Context(), path, 1)
		want := fmt.Sprintf(`data folder %s is in use by another process: stop that one, or choose another --name or --data-dir`, path)
		if got := testutil.ErrorLine(t, err); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// TestOpenWaitsForALook has another process look at the folder, on a machine that stalls.
func TestOpenWaitsForALook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d")
	lock := lockWithoutOwner(t, path)
	synctest.Test(t, func(t *testing.T) {
		time.AfterFunc(3*lockTimeout, func() {
			if err := lock.Close(); err != nil {
				t.Error(err)
			}
		})
		mustOpen(t, path)
	})
}

// TestReadOnlyLook meets, in a folder that may only be read, the lock that another process has.
func TestReadOnlyLook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d")
	lock := lockWithoutOwner(t, path)
	defer lock.Close()
	if _, err := filelock.IsHeld(filepath.Join(path, lockFile)); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if pid, held, err := findReadOnlyHolder(path, fs.ErrPermission); err != nil || !held || pid != 0 || time.Since(began) < lockTimeout {
			t.Errorf("of a process that has not recorded its PID: got %d, %t, %v after %v", pid, held, err, time.Since(began))
		}
		time.AfterFunc(lockTimeout/2, func() {
			if err := lock.Close(); err != nil {
				t.Error(err)
			}
		})
		if pid, held, err := findReadOnlyHolder(path, fs.ErrPermission); err != nil || held || pid != 0 {
			t.Errorf("of another Peek: got %d, %t, %v", pid, held, err)
		}
	})
}

// TestLockIsFreedAtTheLastMoment frees a lock after the last attempt before lockTimeout.
func TestLockIsFreedAtTheLastMoment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d")
	for range 10 {
		held := lockWithoutOwner(t, path)
		synctest.Test(t, func(t *testing.T) {
			time.AfterFunc(lockTimeout-lockRetryInterval/2, func() {
				if err := held.Close(); err != nil {
					t.Error(err)
				}
			})
			lock, err := acquireLock(path, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := lock.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOpenEndsWithContext interrupts the wait for a lock whose owner is not known.
func TestOpenEndsWithContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d")
	lock := lockWithoutOwner(t, path)
	defer lock.Close()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		if _, err := Open(ctx, path, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took > lockTimeout {
			t.Errorf("it took %v", took)
		}
	})
}

// TestConcurrentOpens opens a folder that does not exist many times at once: one call
// succeeds, and the others neither damage the folder nor remove it.
func TestConcurrentOpens(t *testing.T) {
	for round := range 8 {
		path := filepath.Join(t.TempDir(), "a", "b", fmt.Sprint(round))
		const starts = 16
		dirs := make(chan *Dir, starts)
		var all sync.WaitGroup
		for range starts {
			all.Go(func() {
				d, err := Open(t.Context(), path, 1)
				var locked *LockedError
				switch {
				case err == nil:
					dirs <- d
				case !errors.As(err, &locked):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(dirs) != 1 {
			t.Fatalf("%d calls have opened the folder, want 1", len(dirs))
		}
		d := <-dirs
		if _, marked, err := readMarker(path); !marked || err != nil {
			t.Errorf("marker: %v, %v", marked, err)
		}
		mustClose(t, d)
	}
}

// TestTryLockRetriesReplacedFile removes and creates the lock file between opening and
// locking.
func TestTryLockRetriesReplacedFile(t *testing.T) {
	path := t.TempDir()
	old, err := tryLock(path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := old.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := tryLock(path, true); !errors.Is(err, filelock.ErrHeld) {
		t.Fatalf("got %v, want %v", err, filelock.ErrHeld)
	}
	if err := os.Remove(filepath.Join(path, lockFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := tryLock(path, false); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("got %v, want %v", err, os.ErrNotExist)
	}
	replaced, err := tryLock(path, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := replaced.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLockIsExclusive locks and removes the same lock file in two goroutines.
func TestLockIsExclusive(t *testing.T) {
	path := t.TempDir()
	var owner sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 300 {
				lock, err := tryLock(path, true)
				if errors.Is(err, filelock.ErrHeld) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if !owner.TryLock() {
					t.Error("two goroutines have the lock")
					return
				}
				owner.Unlock()
				if err := os.Remove(lock.Name()); err != nil {
					t.Error(err)
				}
				if err := lock.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
