package learn

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// stepError says that a part of a lesson failed. Only --auto, which authors use, names the
// line in the lesson's file.
type stepError struct {
	line   int
	err    error
	author bool
}

func (e *stepError) Error() string {
	if e.author {
		return fmt.Sprintf("line %d: %v", e.line, e.err)
	}
	return e.err.Error()
}

func (e *stepError) Unwrap() error { return e.err }

// failPart returns the error of a part of the lesson.
func (r *runner) failPart(line int, format string, args ...any) error {
	return &stepError{line, fmt.Errorf(format, args...), r.Auto}
}

// runPartForReader runs a part of a step. If it fails the reader can repeat it or go on.
func (r *runner) runPartForReader(ctx context.Context, p Part) error {
	for {
		if err := r.requireNamespace(ctx); err != nil {
			return err
		}
		err := r.runPart(ctx, p)
		if failed := (*stepError)(nil); r.Auto || !errors.As(err, &failed) {
			return err
		}
		if err := r.requireNamespace(ctx); err != nil {
			return err
		}
		r.printf("%s", r.wrap(r.bad(r.symbol("✗ ", "x ")), "  ", "This part of the lesson did not work: "+strings.TrimSuffix(err.Error(), ".")+"."))
		again, err := r.askRepeat(ctx)
		if err != nil || !again {
			return err
		}
	}
}

// askRepeat asks the reader whether to repeat a part that has failed.
func (r *runner) askRepeat(ctx context.Context) (again bool, err error) {
	for {
		line, err := r.readCommandLine(ctx, r.faint(`Press Enter to repeat it, or type "skip" to go on without it. `)+r.shellPrompt())
		switch {
		case err != nil:
			return false, err
		case line == "":
			return true, nil
		case line == "skip" || line == "next":
			return false, nil
		}
		if _, err := r.handleGeneral(ctx, line); err != nil {
			return false, err
		}
	}
}
