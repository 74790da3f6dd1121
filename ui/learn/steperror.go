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

// runPartForReader runs a part of a step. If it fails the reader can repeat it, or go on
// without it, which is errLeftOut.
func (r *runner) runPartForReader(ctx context.Context, p Part) error {
	run := r.runPart
	for {
		if err := r.requireNamespace(ctx); err != nil {
			return err
		}
		stays, err := r.runInterruptibly(ctx, func(ctx context.Context) error { return run(ctx, p) })
		if !stays {
			if _, failed := errors.AsType[*stepError](err); r.Auto || !failed {
				return err
			}
		}
		if err := r.requireNamespace(ctx); err != nil {
			return err
		}
		if !stays {
			r.printFailure("This part of the lesson did not work", err)
		}
		if run, err = r.askRepeat(ctx); err != nil {
			return err
		}
	}
}

func (r *runner) printFailure(what string, err error) {
	r.printf("%s", r.wrap(r.bad(r.Glyph("✗ ", "x ")), "  ", what+": "+strings.TrimSuffix(err.Error(), ".")+"."))
}

// askRepeat asks the reader how to repeat a part that has failed.
func (r *runner) askRepeat(ctx context.Context) (run func(context.Context, Part) error, err error) {
	for {
		r.printf("%s", r.wrap("", "", r.faint(`Enter repeats it, "restart" sets the step up again, "skip" goes on without it.`)))
		line, err := r.readCommandLine(ctx, r.shellPrompt())
		switch {
		case err != nil:
			return nil, err
		case line == "":
			return r.runPart, nil
		case line == "restart":
			return r.runPartAgain, nil
		case line == "skip" || line == "next":
			return nil, errLeftOut
		}
		if _, err := r.handleGeneral(ctx, line); err != nil {
			return nil, err
		}
	}
}

// runPartAgain runs a part in the state in which it should begin.
func (r *runner) runPartAgain(ctx context.Context, p Part) error {
	if err := r.setUpAgain(ctx, p); err != nil {
		return err
	}
	return r.runPart(ctx, p)
}
