package nodes

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// maxStageSteps is how many steps the jq expressions of a stage may take for an object. Usual ones take
// less than a thousand; a limit of time would depend on what else the machine does.
const maxStageSteps = 1 << 20

// errTooManySteps is why an evaluation ends before its result is known.
var errTooManySteps = errors.New("the expression takes too many steps")

// evaluate reports whether a stage matches an object, and whether its expressions have ended. Those of its weight and
// its delay are evaluated, too: that is done later, without a limit.
func (s userStage) evaluate(ctx context.Context, event *lifecycle.Event, now time.Time) (matched, ended bool) {
	steps := &stepContext{Context: ctx, left: maxStageSteps}
	// An error means that an expression does not apply to this object: no match.
	found, err := (lifecycle.Lifecycle{s.compiled}).Match(steps, event)
	if matched = err == nil && found != nil; matched {
		_, _, _ = s.compiled.Weight(steps, event)
		_, _, _ = s.compiled.DelayRangePossible(steps, event, now)
	}
	ended = !steps.isExceeded()
	return matched && ended, ended
}

// stepContext ends after a number of calls of Done: gojq calls it before each step.
type stepContext struct {
	context.Context
	left int
}

var exceeded = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (c *stepContext) isExceeded() bool { return c.left <= 0 }

// Done implements context.Context.
func (c *stepContext) Done() <-chan struct{} {
	if c.left--; c.isExceeded() {
		return exceeded
	}
	return c.Context.Done()
}

// Err implements context.Context.
func (c *stepContext) Err() error {
	if c.isExceeded() {
		return errTooManySteps
	}
	return c.Context.Err()
}
