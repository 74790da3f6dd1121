//go:build !linux

package etcd

import (
	"errors"
	"os"
)

// canAllocate is false where space is not allocated without a change of the file's size.
const canAllocate = false

func allocate(*os.File, int64) error { return errors.ErrUnsupported }
