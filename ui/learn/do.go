package learn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// errTaskDone is that what the reader was to do is done.
var errTaskDone = errors.New("it is done")

// effectWait is how long a command's effects are waited for before the next prompt.
const effectWait = 1500 * time.Millisecond

// runDo has something done by the reader.
func (r *runner) runDo(ctx context.Context, d *Do) error {
	if len(d.Until) > 0 { // else it is about what was done before
		if err := r.probe.markStart(ctx); err != nil {
			return err
		}
	}
	if !r.replaying {
		r.printf("%s\n", r.wrap(r.cue(r.symbol("▶ Your turn: ", "> Your turn: ")), "  ", r.renderInline(r.substituteNamespace(d.Say))))
	}
	if r.Auto || r.replaying {
		return r.performDo(ctx, d)
	}
	t := &task{runner: r, Do: d}
	for {
		err := t.readCommand(ctx)
		switch {
		case errors.Is(err, errTaskSkipped):
			return nil
		case errors.Is(err, errTaskDone):
			r.printPassed(d.Until)
			return nil
		case err != nil:
			return err
		}
	}
}

// performDo does what the reader should do. With Auto it is an error that it was done
// before: then the check could not tell.
func (r *runner) performDo(ctx context.Context, d *Do) error {
	if r.Auto && !r.replaying && len(d.Until) > 0 {
		out, err := r.probe.unmetChecks(ctx, d.Until)
		if err != nil {
			return err
		}
		if len(out) == 0 {
			return fmt.Errorf("line %d: the checks hold before anything was done", d.Line)
		}
	}
	if err := r.runCommands(ctx, d.Run, d.Line); err != nil {
		return err
	}
	return r.requireChecks(ctx, d.Until, d.Within)
}

// task is something that the reader is about to do.
type task struct {
	*runner
	*Do
	hintsGiven int // given
}

// readCommand lets the reader say one thing; errDone is that the task is done.
func (t *task) readCommand(ctx context.Context) error {
	watch, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t.watchChecks(watch, stop)
	}()
	line, err := t.readLine(watch, t.prompt())
	stop(nil)
	<-ended
	if err != nil {
		return err
	}
	return t.handleLine(ctx, strings.TrimSpace(line))
}

// watchChecks ends the reading when the checks hold.
func (t *task) watchChecks(ctx context.Context, stop context.CancelCauseFunc) {
	if len(t.Until) == 0 {
		return
	}
	out, err := t.probe.awaitChecks(ctx, t.Until, 24*time.Hour)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		stop(err)
	case len(out) == 0:
		stop(errTaskDone)
	}
}

func (t *task) handleLine(ctx context.Context, line string) error {
	switch line {
	case "", "check", "next":
		return t.checkNow(ctx)
	case "hint":
		t.printHint()
		return nil
	case "skip":
		if err := t.runCommands(ctx, t.Do.Run, t.Line); err != nil {
			return err
		}
		if err := t.requireChecks(ctx, t.Until, t.Within); err != nil {
			return err
		}
		return errTaskSkipped
	}
	if done, err := t.handleGeneral(ctx, line); done {
		return err
	}
	if len(t.Until) == 0 {
		t.printf("%s\n", t.faint("Enter goes on."))
		return nil
	}
	out, err := t.probe.awaitChecks(ctx, t.Until, effectWait)
	if err == nil && len(out) == 0 {
		return errTaskDone
	}
	return err
}

// checkNow says what is still to be done.
func (t *task) checkNow(ctx context.Context) error {
	if len(t.Until) == 0 {
		return errTaskDone
	}
	out, err := t.probe.unmetChecks(ctx, t.Until)
	if err != nil {
		return err
	}
	if len(out) == 0 {
		return errTaskDone
	}
	for _, m := range out {
		t.printf("%s", t.wrap(t.bad(t.symbol("✗", "x"))+" ", "  ", "Not yet: "+t.substituteNamespace(m.check.String())+"; now "+m.value.String()+"."))
	}
	return nil
}

// printHint gives the next one; the last is the solution.
func (t *task) printHint() {
	if t.hintsGiven < len(t.Hints) {
		t.printf("%s", t.wrap(t.cue("Hint: "), "  ", t.renderInline(t.substituteNamespace(t.Hints[t.hintsGiven]))))
		t.hintsGiven++
		return
	}
	t.printf("%s\n", t.cue("This does it:"))
	for _, l := range t.Do.Run {
		t.printf("  %s\n", t.code(l))
	}
	t.printf("%s\n", t.faint("Type it, or \"skip\" to have it done."))
}

// errTaskSkipped is errDone, but for the praise, which was given.
var errTaskSkipped = fmt.Errorf("%w: skipped", errTaskDone)
