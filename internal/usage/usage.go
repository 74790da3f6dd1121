// Package usage tells errors in what was asked for from failures: trying the
// same again cannot help, and a command exits with 2.
package usage

import "fmt"

// Error is an error in what was asked for.
type Error struct{ err error }

// Errorf is fmt.Errorf for an Error.
func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }

func (e Error) Error() string { return e.err.Error() }
func (e Error) Unwrap() error { return e.err }
