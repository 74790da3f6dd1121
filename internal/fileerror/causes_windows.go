package fileerror

import (
	"errors"

	"golang.org/x/sys/windows"
)

const writeProtected = windows.ERROR_WRITE_PROTECT

// IsDiskFull reports whether a file could not grow because its disk, or the user's share of
// it, is used up.
func IsDiskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}
