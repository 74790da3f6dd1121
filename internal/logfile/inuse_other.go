//go:build !windows

package logfile

import "os"

// rename never returns errInUse: files can be renamed while they are open.
func rename(from, to string) error { return os.Rename(from, to) }

// openForReading opens a file so that it can be renamed meanwhile.
func openForReading(path string) (*os.File, error) { return os.Open(path) }
