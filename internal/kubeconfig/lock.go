package kubeconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/inuse"
)

const (
	// Programs hold the lock for some milliseconds. One that does not change for
	// staleLockTimeout was left by a killed process.
	staleLockTimeout = 5 * time.Second
	// lockTimeout ends the wait when other programs hold the lock one after the other.
	lockTimeout       = time.Minute
	lockRetryInterval = 5 * time.Millisecond
)

// lockFile locks a kubeconfig file as client-go does, but waits for the lock.
func lockFile(path string) (unlock func() error, err error) {
	name := path + ".lock"
	limit := time.NewTimer(lockTimeout)
	defer limit.Stop()
	patience := time.NewTimer(staleLockTimeout)
	defer patience.Stop()
	retry := time.NewTicker(lockRetryInterval)
	defer retry.Stop()
	var seen os.FileInfo
	for {
		var f *os.File
		err := inuse.Retry(func() (err error) { // Windows denies access to a file that is being removed
			f, err = os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0o600)
			return err
		})
		if err == nil {
			unlock := func() error { return durable.Remove(name, false) }
			if err := f.Close(); err != nil {
				_ = unlock() // the first error matters more
				return nil, explainError(path, err)
			}
			return unlock, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, explainError(path, err)
		}
		if found, err := os.Stat(name); err == nil {
			if seen != nil && !(os.SameFile(seen, found) && seen.ModTime().Equal(found.ModTime())) {
				patience.Reset(staleLockTimeout) // another program holds it now
			}
			seen = found
		}
		select {
		case <-retry.C:
			continue
		case <-patience.C:
		case <-limit.C:
		}
		since := ""
		if seen != nil {
			since = " since " + seen.ModTime().Format(time.DateTime)
		}
		return nil, fmt.Errorf("kubeconfig %s is locked%s: wait until the program that changes it has ended, or remove %s if there is none", path, since, name)
	}
}
