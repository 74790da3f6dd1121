package etcd

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const canAllocate = true

// allocate allocates the first bytes of a file, and leaves its size.
func allocate(f *os.File, bytes int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, bytes)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
