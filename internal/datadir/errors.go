package datadir

import (
	"fmt"

	"github.com/ctrlplane/ctrlplane/internal/fileerror"
)

// explainError returns an error of the file system as one line that says what failed, why,
// and what to do.
func explainError(path, doing string, err error) error {
	const choose = "or choose another --data-dir"
	switch {
	case fileerror.IsDiskFull(err):
		return fmt.Errorf("data folder %s: the disk is full (%w): free space, %s", path, err, choose)
	case fileerror.IsNotWritable(err):
		return fmt.Errorf("data folder %s cannot be used (%w): make it writable, %s", path, err, choose)
	}
	return fmt.Errorf("data folder %s: cannot %s: %w: fix the cause, %s", path, doing, err, choose)
}
