//go:build unix

package fileerror

import (
	"errors"
	"syscall"
)

const writeProtected = syscall.EROFS

// IsDiskFull reports whether a file could not grow because its disk, or the user's share of
// it, is used up.
func IsDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
