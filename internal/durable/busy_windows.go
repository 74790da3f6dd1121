package durable

import (
	"errors"
	"syscall"
)

// errorSharingViolation is from winerror.h; package syscall does not define it.
const errorSharingViolation = syscall.Errno(32)

func isBusy(err error) bool {
	return errors.Is(err, syscall.ERROR_ACCESS_DENIED) || errors.Is(err, errorSharingViolation)
}
