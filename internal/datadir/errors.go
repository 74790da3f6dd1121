package datadir

import (
	"errors"
	"fmt"
	"io/fs"
)

// explainError makes the one line that a person needs from an error of the file
// system, met while doing something with a data folder.
func explainError(path, doing string, err error) error {
	const choose = "or choose another --data-dir"
	switch {
	case diskFull(err):
		return fmt.Errorf("data folder %s: the disk is full (%w): make room, %s", path, err, choose)
	case errors.Is(err, fs.ErrPermission) || readOnly(err):
		return fmt.Errorf("data folder %s cannot be used (%w): make it yours and writable, %s", path, err, choose)
	}
	return fmt.Errorf("data folder %s: cannot %s (%w): look into that, %s", path, doing, err, choose)
}
