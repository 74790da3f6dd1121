package learn

import (
	"context"
	"errors"
	"testing"
)

// An interrupt is meant for a command of the reader, for what the lesson waits for, or for the lesson: it depends on what is
// going on.
func TestInterrupts(t *testing.T) {
	var i Interrupts
	if i.ForCommand() || i.EndWait() {
		t.Error("an interrupt is not meant for the lesson")
	}
	outer, outerDone := i.beginWait(t.Context())
	inner, innerDone := i.beginWait(outer)
	promptDone := i.beginPrompt()
	if i.EndWait() || inner.Err() != nil {
		t.Error("an interrupt at a prompt ends what was waited for before")
	}
	promptDone()
	if !i.EndWait() || !errors.Is(context.Cause(inner), errWaitInterrupted) || outer.Err() != nil {
		t.Errorf("the inner wait ends with %v, the outer one with %v", context.Cause(inner), context.Cause(outer))
	}
	innerDone()
	if !i.EndWait() || !errors.Is(context.Cause(outer), errWaitInterrupted) {
		t.Errorf("the outer wait ends with %v", context.Cause(outer))
	}
	outerDone()
	if i.EndWait() {
		t.Error("there is still something to wait for")
	}
	done := i.beginCommand()
	if !i.ForCommand() {
		t.Error("an interrupt is not meant for the command")
	}
	done()
	var none *Interrupts
	none.beginPrompt()()
	none.beginCommand()()
}
