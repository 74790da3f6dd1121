package learn

import (
	"context"
	"errors"
	"sync"
	"time"
)

// interruptGrace is how long after the exit of a command an interrupt still counts as
// meant for it: the terminal sends it to both processes, and the command may exit
// before this process receives it.
const interruptGrace = 200 * time.Millisecond

// errWaitInterrupted says that the reader has interrupted what the lesson does or waits for.
var errWaitInterrupted = errors.New("interrupted by the reader")

// Interrupts says what an interrupt of the terminal is meant for, if not for the whole lesson. The zero value is ready
// for use, and nil is meant for the whole lesson.
type Interrupts struct {
	mu       sync.Mutex
	commands int                     // of the reader, that have the terminal or have just exited
	prompts  int                     // at which Ctrl-C is a key, and an interrupt is from elsewhere
	wait     context.CancelCauseFunc // of what the reader can interrupt
}

// ForCommand reports whether an interrupt is meant for a command of the reader.
func (i *Interrupts) ForCommand() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.commands > 0
}

// EndWait ends what the reader can interrupt, and reports whether there was something.
func (i *Interrupts) EndWait() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.wait == nil || i.prompts > 0 {
		return false
	}
	i.wait(errWaitInterrupted)
	return true
}

// beginCommand counts a command of the reader, until shortly after done.
func (i *Interrupts) beginCommand() (done func()) {
	i.count(1, 0)
	return func() { time.AfterFunc(interruptGrace, func() { i.count(-1, 0) }) }
}

// beginPrompt counts a prompt.
func (i *Interrupts) beginPrompt() (done func()) {
	i.count(0, 1)
	return func() { i.count(0, -1) }
}

func (i *Interrupts) count(commands, prompts int) {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.commands += commands
	i.prompts += prompts
}

// beginWait returns a context that EndWait ends.
func (i *Interrupts) beginWait(ctx context.Context) (waiting context.Context, done func()) {
	waiting, cancel := context.WithCancelCause(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	outer := i.wait
	i.wait = cancel
	return waiting, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.wait = outer
		cancel(nil)
	}
}

// runInterruptibly runs something that the reader at a terminal can interrupt with Ctrl-C. It then asks whether to leave;
// stays is whether the reader stays, and it was not complete.
func (r *runner) runInterruptibly(ctx context.Context, run func(context.Context) error) (stays bool, err error) {
	if r.tty == nil || r.Interrupts == nil {
		return false, run(ctx)
	}
	waiting, done := r.Interrupts.beginWait(ctx)
	err = run(waiting)
	interrupted := errors.Is(context.Cause(waiting), errWaitInterrupted)
	done()
	if !interrupted || ctx.Err() != nil || errors.Is(err, errTaskDone) {
		return false, err
	}
	complete := err == nil
	r.printf("\n")
	err = r.confirmLeaving(ctx)
	return err == nil && !complete, err
}
