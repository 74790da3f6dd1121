package fileerror

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"testing"
)

func TestIsDiskFull(t *testing.T) {
	// From winerror.h: the numbers mean something else on Unix.
	full := []syscall.Errno{39, 112, 1295}
	if runtime.GOOS != "windows" {
		full = []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT}
	}
	for _, errno := range full {
		if err := fmt.Errorf("save: %w", &fs.PathError{Op: "write", Path: "/x", Err: errno}); !IsDiskFull(err) {
			t.Errorf("%v (%d) is not recognized", err, errno)
		}
	}
	for _, err := range []error{nil, fs.ErrPermission, os.ErrNotExist, syscall.ENOTEMPTY} {
		if IsDiskFull(err) {
			t.Errorf("%v means that a disk is full", err)
		}
	}
}

func TestIsNotWritable(t *testing.T) {
	protected := syscall.Errno(19) // from winerror.h
	if runtime.GOOS != "windows" {
		protected = syscall.EROFS
	}
	for err, want := range map[error]bool{
		protected: true, fs.ErrPermission: true, &fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}: true,
		fs.ErrNotExist: false, syscall.ENOTEMPTY: false,
	} {
		if got := IsNotWritable(err); got != want {
			t.Errorf("%v: %t, want %t", err, got, want)
		}
	}
}
