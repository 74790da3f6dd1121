package etcd

import (
	"context"
	"sync"

	"go.etcd.io/etcd/server/v3/storage/wal"
)

// segmentBytes is the size of a file of the write-ahead log. Two files are allocated at
// the start: with etcd's default of 64 MB an empty control plane would take 128 MB of
// disk. A larger record gets a larger file.
const segmentBytes = 8 << 20

// segmentSize changes the size of log files, which is a variable of the process, while
// members exist. Members read it at any time, so it is never written while one runs.
var segmentSize sharedSetting

type sharedSetting struct {
	mu       sync.Mutex
	users    int
	original int64
}

// acquire changes the setting for the first user.
func (s *sharedSetting) acquire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		s.original = wal.SegmentSizeBytes
		wal.SegmentSizeBytes = segmentBytes
	}
	s.users++
}

// release restores the setting after the last user.
func (s *sharedSetting) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users == 0 {
		wal.SegmentSizeBytes = s.original
	}
}

// startSlot is held while a member starts: until its election it reads raft's status,
// which etcd publishes only of the member that it opened last.
var startSlot = make(chan struct{}, 1)

// acquireStartSlot waits until no other member of this process is starting.
func acquireStartSlot(ctx context.Context) (release func(), err error) {
	select {
	case startSlot <- struct{}{}:
		return func() { <-startSlot }, nil
	case <-ctx.Done():
		return nil, stoppedWaitingError(ctx)
	}
}
