package etcd

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/server/v3/storage/wal"
)

// segmentBytes is the size of one file of the write-ahead log. Two are
// allocated from the first moment on; etcd's own 64 MiB would make an empty
// control plane take 128 MiB of disk. A larger record gets a larger file.
const segmentBytes = 8 << 20

// The size belongs to the process, not to a server: it is set before any server
// can run, so that none ever reads it while it changes.
func init() { wal.SegmentSizeBytes = segmentBytes }

// startSlot is held from the opening of a member to its election, as etcd shows the
// state of raft in one place of the process, where the last one opened is seen.
var startSlot = make(chan struct{}, 1)

// acquireStartSlot waits until no other member of this process is being started.
func acquireStartSlot(ctx context.Context) (release func(), err error) {
	select {
	case startSlot <- struct{}{}:
		return func() { <-startSlot }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("gave up before it was ready: %w", context.Cause(ctx))
	}
}
