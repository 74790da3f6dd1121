// Package filelock locks a file that stands for something else, until it is closed or the process ends.
package filelock

import "errors"

// ErrHeld is what TryLock returns if another open file holds the lock.
var ErrHeld = errors.New("the lock is held")
