package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/ctrlplane/ctrlplane/internal/inuse"
)

// rotator appends to a file and renames it when it is full. It needs no goroutine.
type rotator struct {
	path     string
	maxBytes int64
	maxFiles int
	rename   func(from, to string) error

	mu       sync.Mutex
	file     *os.File // nil after Close, or after a rotation that failed
	size     int64
	closed   bool
	firstErr error // the first failure
}

func openRotator(path string, limit int64, keep int) (*rotator, error) {
	r := &rotator{path: path, maxBytes: limit, maxFiles: keep, rename: inuse.Rename}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *rotator) open() error {
	// Checked first, because opening a pipe for writing waits for a reader.
	if info, err := os.Stat(r.path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", r.path)
	}
	f, err := os.OpenFile(r.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		err = f.Chmod(0o600) // an existing file may have been readable by others
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r.file, r.size = f, info.Size()
	return nil
}

// Write appends one whole record.
func (r *rotator) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, os.ErrClosed
	}
	var failure error
	if r.size > 0 && r.size+int64(len(p)) > r.maxBytes {
		// If another program has a file open, the next record tries again.
		if err := r.rotate(); !errors.Is(err, inuse.Err) {
			failure = err
		}
	}
	if r.file == nil {
		failure = errors.Join(failure, r.open())
	}
	n := 0
	if r.file != nil { // a file that is too large is better than a lost record
		var err error
		n, err = r.file.Write(p)
		r.size += int64(n)
		failure = errors.Join(failure, err)
	}
	if r.firstErr == nil {
		r.firstErr = failure
	}
	return n, failure
}

// rotate renames path to path.1, path.1 to path.2 and so on, overwrites the last one,
// and leaves the file closed. After a rotation that has failed half-way, one file is missing:
// then those behind it stay, or each attempt would overwrite the last one.
func (r *rotator) rotate() error {
	err := r.file.Close() // first, because Windows cannot rename open files
	r.file = nil
	if err != nil {
		return err
	}
	for i := r.firstMissing(); i > 0; i-- {
		if err := r.rename(r.numberedPath(i-1), r.numberedPath(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// firstMissing returns the first number without a file; the last one if there is none.
func (r *rotator) firstMissing() int {
	for i := 1; i < r.maxFiles; i++ {
		if _, err := os.Lstat(r.numberedPath(i)); errors.Is(err, fs.ErrNotExist) {
			return i
		}
	}
	return r.maxFiles
}

func (r *rotator) numberedPath(i int) string {
	if i == 0 {
		return r.path
	}
	return fmt.Sprintf("%s.%d", r.path, i)
}

func (r *rotator) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	if r.file == nil {
		return r.firstErr
	}
	return errors.Join(r.firstErr, r.file.Close())
}
