package datadir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/filelock"
	"github.com/ctrlplane/ctrlplane/internal/inuse"
)

const (
	// Peek holds a free lock for some microseconds, and a process that has just locked
	// a folder needs about as long to record its PID. A lock that is still held after
	// lockTimeout is in use, unless the machine is busy: if no process that runs is recorded,
	// lockFolder waits for ownerTimeout.
	lockTimeout       = 100 * time.Millisecond
	ownerTimeout      = 2 * time.Second
	lockRetryInterval = 2 * time.Millisecond
	// On a machine that stalls, lockTimeout may pass between two attempts, each of which meets
	// a Peek.
	minLockAttempts = 10
)

// LockedError says that another process, or another Dir of this process, uses the data
// folder.
type LockedError struct {
	Path string
	// PID is the process that uses it; 0 = unknown.
	PID int
}

func (e *LockedError) Error() string {
	const choose = "or choose another --name or --data-dir"
	switch e.PID {
	case 0:
		return fmt.Sprintf("data folder %s is in use by another process: stop that one, %s", e.Path, choose)
	case os.Getpid(): // or a process with the same PID in another container
		return fmt.Sprintf("data folder %s is in use by process %d: close it there first, %s", e.Path, e.PID, choose)
	}
	return fmt.Sprintf(`data folder %s is in use by process %d: stop it with %s, %s`, e.Path, e.PID, e.stopCommand(), choose)
}

// lockFolder locks the folder. If it is in use the error is a *LockedError.
func lockFolder(ctx context.Context, path string) (*os.File, error) {
	for limit := time.Now().Add(ownerTimeout); ; {
		lock, err := acquireLock(path, true)
		if err == nil {
			return lock, nil
		}
		if !errors.Is(err, filelock.ErrHeld) {
			return nil, explainError(path, "lock it", err)
		}
		pid, runs, err := readOwner(path)
		switch {
		case err != nil:
			return nil, explainError(path, "read "+pidFile, err)
		case runs || time.Now().After(limit):
			return nil, &LockedError{Path: path, PID: pid}
		case ctx.Err() != nil:
			return nil, fmt.Errorf("data folder %s: %w", path, context.Cause(ctx))
		}
	}
}

// acquireLock calls tryLock until it succeeds, or fails after lockTimeout and minLockAttempts.
func acquireLock(path string, create bool) (lock *os.File, err error) {
	err = retryHeld(func() (err error) {
		lock, err = tryLock(path, create)
		return err
	})
	return lock, err
}

// retryHeld calls try while it returns filelock.ErrHeld, until lockTimeout and minLockAttempts.
func retryHeld(try func() error) error {
	limit := time.Now().Add(lockTimeout)
	retry := time.NewTicker(lockRetryInterval)
	defer retry.Stop()
	for attempts := 1; ; attempts++ {
		last := attempts >= minLockAttempts && !time.Now().Before(limit)
		if err := try(); last || !errors.Is(err, filelock.ErrHeld) {
			return err
		}
		<-retry.C
	}
}

// tryLock locks the folder without waiting. Without create, a missing lock file is an
// error.
func tryLock(path string, create bool) (*os.File, error) {
	path = filepath.Join(path, lockFile)
	for {
		lock, err := filelock.TryLock(path, create)
		if err != nil {
			return nil, err
		}
		// The last owner may have removed the file after it was opened and before it
		// was locked here: then other processes will find another file.
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

// readPID returns 0 if no PID is recorded.
func readPID(path string) (int, error) {
	data, err := inuse.ReadFile(filepath.Join(path, pidFile))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid < 0 {
		return 0, nil // damaged by a crash of the machine
	}
	return pid, nil
}
