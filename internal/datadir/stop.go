package datadir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// stopPollInterval is how often Stop looks whether the process has ended.
const stopPollInterval = 20 * time.Millisecond

// Stop asks the process that uses a data folder to end, and returns when it has. It
// reports false if no process uses the folder. On Windows a process that is not ctrlplane is killed.
func Stop(ctx context.Context, path string) (stopped bool, err error) {
	s, running, err := Peek(path)
	if err != nil || !running {
		return false, err
	}
	if s.PID == 0 {
		return false, fmt.Errorf("data folder %s is in use by an unknown process: stop that one", path)
	}
	release, asked := claimStop(path)
	defer release()
	if !asked { // a second signal would end it at once
		running, err = endOwner(path, s.PID)
	}
	if err != nil {
		return false, fmt.Errorf("data folder %s: cannot stop process %d: %w", path, s.PID, err)
	}
	if !running {
		return false, nil
	}
	tick := time.NewTicker(stopPollInterval)
	defer tick.Stop()
	for pid := s.PID; ; {
		s, running, err := Peek(path)
		if err != nil || !running || s.PID != pid { // another process may use it by now
			return err == nil, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false, fmt.Errorf("process %d has not ended: %w: wait, or end it at once with %q", pid, context.Cause(ctx), fmt.Sprintf(killCommand, pid))
		}
	}
}

// endOwner asks a process to end if it uses the folder. It reports false if no process does.
func endOwner(path string, pid int) (running bool, err error) {
	// Before the check: on Linux this stays the same process if the PID is used again.
	process, err := os.FindProcess(pid)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, process.Release()) }()
	switch err := checkOwner(path, pid); {
	case errors.Is(err, errUnknownOwner):
		if held, err := staysHeld(path); !held || err != nil {
			return false, err
		}
	case err != nil:
		return false, err
	}
	if err := endProcess(process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return false, err
	}
	return true, nil
}
