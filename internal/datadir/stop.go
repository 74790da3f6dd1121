package datadir

import (
	"context"
	"fmt"
	"time"
)

// stopPollInterval is how often Stop looks whether the process has ended.
const stopPollInterval = 20 * time.Millisecond

// Stop asks the process that uses a data folder to end, and returns when it has. It
// reports false if no process uses the folder. On Windows the process is killed.
func Stop(ctx context.Context, path string) (stopped bool, err error) {
	s, running, err := Peek(path)
	if err != nil || !running {
		return false, err
	}
	if s.PID == 0 {
		return false, fmt.Errorf("data folder %s is in use by an unknown process: stop that one", path)
	}
	if err := endProcess(s.PID); err != nil {
		return false, fmt.Errorf("data folder %s: cannot stop process %d: %w", path, s.PID, err)
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
