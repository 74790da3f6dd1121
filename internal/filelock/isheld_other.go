//go:build !linux

package filelock

import "errors"

// IsHeld reports whether TryLock would return ErrHeld, for a file that may only be read, on systems
// where that can be found out.
func IsHeld(string) (bool, error) { return false, errors.ErrUnsupported }
