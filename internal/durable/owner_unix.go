//go:build unix

package durable

import (
	"os"
	"syscall"
)

// chownLike keeps the owner of a file that root (sudo) changes.
func chownLike(f *os.File, like os.FileInfo) error {
	want, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if is, ok := info.Sys().(*syscall.Stat_t); ok && is.Uid == want.Uid {
		return nil
	}
	return f.Chown(int(want.Uid), int(want.Gid))
}
