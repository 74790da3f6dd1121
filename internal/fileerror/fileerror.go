// Package fileerror shortens errors of the file system for messages that name the file themselves,
// and recognizes causes on every system.
package fileerror

import (
	"errors"
	"io/fs"
	"os"
)

// IsNotWritable reports whether this user may not write there, for lack of permission or because
// the file system or the disk is write-protected.
func IsNotWritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, writeProtected)
}

// WithoutPath returns the cause of an error of the file system, without the system call and the
// paths; other errors as they are.
func WithoutPath(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok {
		return at.Err
	}
	return err
}
