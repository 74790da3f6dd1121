package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ctrlplane/ctrlplane/internal/procstat"
)

// owner tells the process that uses a data folder from a later one with its PID, and from
// one with that PID in another container or on another machine. It is the content of the
// lock file on systems where these can be read.
type owner struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // when the process started
	Place string `json:"place"` // where its PID is valid
}

var (
	errOtherProcess = errors.New("it is not the process that uses the folder: find that one with fuser or lsof, which list who has the file \"lock\" open")
	errElsewhere    = errors.New("it runs in another container or on another machine: stop it there")
	errUnknownOwner = errors.New("the owner is not recorded") // by an older version or another system
)

// writeOwner records this process in the lock file and in the PID file.
func writeOwner(path string, lock *os.File) error {
	if err := lock.Truncate(0); err != nil {
		return err
	}
	o := owner{PID: os.Getpid()}
	var placeErr, startErr error
	o.Place, placeErr = pidPlace()
	o.Start, startErr = processStart(o.PID)
	if placeErr == nil && startErr == nil {
		data, err := json.Marshal(o)
		if err != nil {
			return err
		}
		if _, err := lock.WriteAt(append(data, '\n'), 0); err != nil {
			return err
		}
	}
	return writePID(path)
}

// ProcessStamp returns what tells a process from a later one with its PID, in another container or after a
// restart of the machine, too. The error is errors.ErrUnsupported on systems where that cannot be read.
func ProcessStamp(pid int) (string, error) {
	place, err := pidPlace()
	if err != nil {
		return "", err
	}
	start, err := processStart(pid)
	return place + " " + start, err
}

// readOwner returns the recorded PID of the process that uses the folder, and whether that runs.
func readOwner(path string) (pid int, runs bool, err error) {
	pid, err = readPID(path)
	if err != nil || !procstat.Exists(pid) {
		return pid, false, err
	}
	err = checkOwner(path, pid)
	return pid, err == nil || errors.Is(err, errUnknownOwner), nil
}

// checkOwner reports why a process is not the one that uses the folder, as far as is known:
// nil if it is that one or has ended.
func checkOwner(path string, pid int) error {
	var o owner
	data, err := os.ReadFile(filepath.Join(path, lockFile))
	if err != nil || json.Unmarshal(data, &o) != nil {
		return errUnknownOwner
	}
	place, err := pidPlace()
	switch {
	case err != nil:
		return errUnknownOwner
	case o.Place != place:
		return errElsewhere
	case o.PID != pid:
		return errOtherProcess
	}
	start, err := processStart(pid)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot read when it started: %w", err)
	case start != o.Start:
		return errOtherProcess
	}
	return nil
}
