package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/durable"
)

const (
	// Peek holds a free lock for some microseconds, a process that has just
	// taken it needs about as long to record its pid: within lockPatience
	// both are over, and a lock that is still held is in use.
	lockTimeout       = 100 * time.Millisecond
	lockRetryInterval = 2 * time.Millisecond
)

// errLockHeld is what openLocked returns when another open file has the lock.
var errLockHeld = errors.New("the lock is held")

// LockedError says that another process, or another Dir of this one, has the
// data folder.
type LockedError struct {
	Path string
	// PID is the process that has it; 0 = not known.
	PID int
}

func (e *LockedError) Error() string {
	const choose = "or choose another --name or --data-dir"
	switch e.PID {
	case 0:
		return fmt.Sprintf("data folder %s is in use by another process: stop that one, %s", e.Path, choose)
	case os.Getpid(): // or its namesake in another container
		return fmt.Sprintf("data folder %s is in use by process %d: close it there first, %s", e.Path, e.PID, choose)
	}
	return fmt.Sprintf("data folder %s is in use by process %d: stop it with %q, %s", e.Path, e.PID, fmt.Sprintf(stopCommand, e.PID), choose)
}

// acquireLock is tryLock with patience for those who hold the lock for an instant.
func acquireLock(path string, create bool) (*os.File, error) {
	patience := time.NewTimer(lockTimeout)
	defer patience.Stop()
	retry := time.NewTicker(lockRetryInterval)
	defer retry.Stop()
	for {
		lock, err := tryLock(path, create)
		if !errors.Is(err, errLockHeld) {
			return lock, err
		}
		select {
		case <-retry.C:
		case <-patience.C:
			return nil, err
		}
	}
}

// tryLock takes the lock of the folder without waiting. Without create, a lock
// file that is missing is an error.
func tryLock(path string, create bool) (*os.File, error) {
	path = filepath.Join(path, lockFile)
	for {
		lock, err := openLocked(path, create)
		if err != nil {
			return nil, err
		}
		// Its last owner may have removed the file between our opening and
		// locking it; what we hold is then no longer what others will find.
		held, err := lock.Stat()
		if err == nil {
			var found os.FileInfo
			if found, err = os.Stat(path); err == nil && os.SameFile(held, found) {
				return lock, nil
			}
		}
		closeErr := lock.Close()
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if closeErr != nil {
			return nil, closeErr
		}
	}
}

func writePID(path string) error {
	return durable.Write(filepath.Join(path, pidFile), []byte(strconv.Itoa(os.Getpid())+"\n"), false)
}

// readPID returns 0 if nothing is recorded.
func readPID(path string) (int, error) {
	data, err := os.ReadFile(filepath.Join(path, pidFile))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid < 0 {
		return 0, nil // torn by a crash of the machine: as good as none
	}
	return pid, nil
}
