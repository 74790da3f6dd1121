// Package limitread reads files that a user names, up to a limit: a device or a
// pipe without an end must not take all of the memory.
package limitread

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// File returns the content of a file of at most limit bytes. A longer one is an
// *fs.PathError, as is everything else that keeps it from being read.
func File(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: it is longer than %d MiB", syscall.EFBIG, limit>>20)}
	}
	return data, nil
}
