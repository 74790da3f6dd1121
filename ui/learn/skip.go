package learn

import (
	"context"
	"errors"
	"fmt"
)

// skip performs the reader's task. If something that the reader has done prevents that, it
// sets the lesson up again first: the text that follows is about the state after the task.
func (t *task) skip(ctx context.Context) error {
	err := t.performDo(ctx, t.Do)
	if _, failed := errors.AsType[*stepError](err); failed {
		if err := t.requireNamespace(ctx); err != nil {
			return err
		}
		t.printFailure("The solution cannot be used after what was done before", err)
		if err = t.setUpAgain(ctx, t.Do); err == nil {
			err = t.performDo(ctx, t.Do)
		}
	}
	if err != nil {
		return err
	}
	return errTaskSkipped
}

// setUpAgain brings the lesson into the state in which a part of the current step begins,
// whatever the reader has done.
func (r *runner) setUpAgain(ctx context.Context, before Part) error {
	r.printf("%s\n", r.faint("Setting up the lesson again, up to here …"))
	if err := r.startOver(ctx); err != nil {
		return fmt.Errorf("cannot set up the lesson again: %w", err)
	}
	if err := r.replayParts(ctx, before); err != nil {
		return fmt.Errorf("cannot repeat this step: %w", err)
	}
	return r.probe.markStart(ctx)
}

// replayParts performs the parts of the current step before one, without output.
func (r *runner) replayParts(ctx context.Context, before Part) error {
	r.replaying = true
	defer func() { r.replaying = false }()
	for _, p := range r.lesson.Steps[r.step].Parts {
		if p == before {
			return nil
		}
		if err := r.runPart(ctx, p); err != nil {
			return err
		}
	}
	return nil
}
