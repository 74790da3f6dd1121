// Package usage distinguishes wrong input from failures: another attempt with the same
// input fails, too, and a command exits with status 2.
package usage

import "fmt"

// Error is an error in the input of the user.
type Error struct{ err error }

// Errorf returns an Error; its arguments are those of fmt.Errorf.
func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }

func (e Error) Error() string { return e.err.Error() }
func (e Error) Unwrap() error { return e.err }
