package inspect

import (
	"errors"
	"strings"
)

// IncompleteError says which owners and dependents of an object could not be found.
type IncompleteError struct{ err error }

func (e *IncompleteError) Error() string { return "incomplete: " + e.err.Error() }

// Unwrap returns the reasons.
func (e *IncompleteError) Unwrap() error { return e.err }

func newIncompleteError(problems ...error) error {
	if err := joinErrors(problems); err != nil {
		return &IncompleteError{err}
	}
	return nil
}

// joinErrors is errors.Join with a text without line breaks.
func joinErrors(errs []error) error {
	if err := errors.Join(errs...); err != nil {
		return &oneLineError{err}
	}
	return nil
}

// oneLineError is an error whose text has no line breaks.
type oneLineError struct{ err error }

func (e *oneLineError) Error() string {
	lines := strings.FieldsFunc(e.err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(lines, "; ")
}

func (e *oneLineError) Unwrap() error { return e.err }
