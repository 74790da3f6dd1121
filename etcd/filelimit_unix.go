//go:build unix

package etcd

import (
	"math"
	"syscall"

	"golang.org/x/sys/unix"
)

// fileSizeLimit returns how large a file of this process may become.
func fileSizeLimit() (bytes int64, limited bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return 0, false
	}
	return int64(limit.Cur), uint64(limit.Cur) <= math.MaxInt64 //nolint:unconvert // the type depends on the platform
}
