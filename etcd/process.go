package etcd

import "go.etcd.io/etcd/server/v3/storage/wal"

// segmentBytes is the size of one file of the write-ahead log. Two are
// allocated from the first moment on; etcd's own 64 MiB would make an empty
// control plane take 128 MiB of disk. A larger record gets a larger file.
const segmentBytes = 8 << 20

// The size belongs to the process, not to a server: it is set before any server
// can run, so that none ever reads it while it changes.
func init() { wal.SegmentSizeBytes = segmentBytes }
