package manifests

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// maxErrors is how many errors an Errors names.
const maxErrors = 10

// Errors are the errors of manifests, one or more. Each names its file, and its line if it has one.
type Errors struct{ list []error }

// asError returns nil for no errors, and else an *Errors.
func asError(list []error) error {
	if len(list) == 0 {
		return nil
	}
	return &Errors{list}
}

// join returns the errors of several calls in one.
func join(errs ...error) error {
	var list []error
	for _, err := range errs {
		if several, ok := errors.AsType[*Errors](err); ok {
			list = append(list, several.list...)
		} else if err != nil {
			list = append(list, err)
		}
	}
	return asError(list)
}

// Error returns all lines in one.
func (e *Errors) Error() string {
	if len(e.list) == 1 {
		return "manifests: " + e.list[0].Error()
	}
	return fmt.Sprintf("manifests: %d errors: %s", len(e.list), strings.Join(e.named(maxErrors), "; "))
}

// lines returns one line for each error, at most that many, and one for those that are not named.
func (e *Errors) lines(most int) []string {
	lines := e.named(most)
	for i, line := range lines {
		lines[i] = "manifests: " + line
	}
	return lines
}

func (e *Errors) named(most int) []string {
	var texts []string
	for i, err := range e.list {
		if i == most {
			return append(texts, words.Count(len(e.list)-most, "more error"))
		}
		texts = append(texts, err.Error())
	}
	return texts
}

// ErrorLines returns the text of an error: several lines if it is, or wraps, an *Errors with several. Those beyond a limit
// are counted in the last line.
func ErrorLines(err error) []string { return errorLines(err, maxErrors) }

// AllErrorLines is ErrorLines without the limit.
func AllErrorLines(err error) []string { return errorLines(err, math.MaxInt) }

func errorLines(err error, most int) []string {
	text := err.Error()
	several, ok := errors.AsType[*Errors](err)
	if !ok {
		return []string{text}
	}
	before, after, found := strings.Cut(text, several.Error())
	if !found {
		return []string{text}
	}
	lines := several.lines(most)
	lines[0] = before + lines[0]
	lines[len(lines)-1] += after
	return lines
}

// Unwrap returns all errors.
func (e *Errors) Unwrap() []error { return e.list }
