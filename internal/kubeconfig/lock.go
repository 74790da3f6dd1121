package kubeconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"time"
)

const (
	// Whoever follows the protocol holds the lock for some milliseconds: one
	// that is not given back in lockPatience was left by a crash.
	lockPatience = 5 * time.Second
	// lockLimit ends the wait when others take the lock in turn.
	lockLimit = time.Minute
	lockRetry = 5 * time.Millisecond
)

// lock takes the lock of a kubeconfig file as client-go does, but waits for it.
func lock(path string) (unlock func() error, err error) {
	name := path + ".lock"
	limit := time.NewTimer(lockLimit)
	defer limit.Stop()
	patience := time.NewTimer(lockPatience)
	defer patience.Stop()
	retry := time.NewTicker(lockRetry)
	defer retry.Stop()
	var seen os.FileInfo
	for {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			unlock := func() error { return os.Remove(name) }
			if err := f.Close(); err != nil {
				_ = unlock() // what went wrong first is what matters
				return nil, explain(path, err)
			}
			return unlock, nil
		}
		// Windows denies access to a file that is being removed.
		if !errors.Is(err, fs.ErrExist) && (runtime.GOOS != "windows" || !errors.Is(err, fs.ErrPermission)) {
			return nil, explain(path, err)
		}
		if found, err := os.Stat(name); err == nil {
			if seen != nil && !(os.SameFile(seen, found) && seen.ModTime().Equal(found.ModTime())) {
				patience.Reset(lockPatience) // it went to somebody else
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
		return nil, fmt.Errorf("kubeconfig %s is locked%s: wait until the program that changes it is done, or remove %s if there is none", path, since, name)
	}
}
