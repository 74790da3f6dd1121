// Package inuse changes files that other processes may have open. On Windows such a file can
// be neither renamed, replaced nor removed, unless each of them has allowed it.
package inuse

import (
	"errors"
	"fmt"
	"os"
)

// Err is the error of Rename for a file that is in use.
var Err = errors.New("in use by another program")

// ReadFile is [os.ReadFile], and waits up to a second for another process that replaces the file,
// which only Windows requires.
func ReadFile(path string) (data []byte, err error) {
	err = Retry(func() error {
		data, err = os.ReadFile(path)
		return err
	})
	return data, err
}

// Rename is [os.Rename], and does not wait: if another process that does not allow it has one
// of the files open, as only on Windows, the error is Err.
func Rename(from, to string) error {
	err := os.Rename(from, to)
	if isBusy(err) {
		return fmt.Errorf("%w: %w", Err, err)
	}
	return err
}
