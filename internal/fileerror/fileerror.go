// Package fileerror shortens errors of the file system for messages that name the file themselves,
// and recognizes a full disk.
package fileerror

import (
	"errors"
	"io/fs"
	"os"
)

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
