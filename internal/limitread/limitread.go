// Package limitread reads files that a user names, up to a limit: a device or a
// pipe without an end must not take all of the memory. One that nothing writes must not
// keep the process from being interrupted.
package limitread

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Await returns what do returns, or the error of ctx once that has ended. A read or a write that blocks,
// as of stdin or of a pipe that nothing opens at the other end, goes on: nothing can interrupt it, and
// the end of the process does not wait for it.
func Await[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// IsStream reports whether a path is that of a pipe or a device: what is read from it may be gone
// afterwards.
func IsStream(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// FileContext is File for what may be a stream: it does not wait once ctx has ended.
func FileContext(ctx context.Context, path string, limit int64) ([]byte, error) {
	return Await(ctx, func() ([]byte, error) { return File(path, limit) })
}

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
