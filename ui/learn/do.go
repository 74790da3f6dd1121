package learn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// errDone is that what the reader was to do is done.
var errDone = errors.New("it is done")

// soon is how long a command's effects are waited for before the next prompt.
const soon = 1500 * time.Millisecond

// do has something done by the reader.
func (r *runner) do(ctx context.Context, d *Do) error {
	if len(d.Until) > 0 { // else it is about what was done before
		if err := r.probe.begin(ctx); err != nil {
			return err
		}
	}
	if !r.quiet {
		r.printf("%s\n", r.wrap(r.cue(r.mark("▶ Your turn: ", "> Your turn: ")), "  ", r.inline(r.named(d.Say))))
	}
	if r.Auto || r.quiet {
		return r.doIt(ctx, d)
	}
	t := &task{runner: r, Do: d}
	for {
		err := t.next(ctx)
		switch {
		case errors.Is(err, errSkipped):
			return nil
		case errors.Is(err, errDone):
			r.praise(d.Until)
			return nil
		case err != nil:
			return err
		}
	}
}

// doIt does what the reader should do. With Auto it is an error that it was done
// before: then the check could not tell.
func (r *runner) doIt(ctx context.Context, d *Do) error {
	if r.Auto && !r.quiet && len(d.Until) > 0 {
		out, err := r.probe.look(ctx, d.Until)
		if err != nil {
			return err
		}
		if len(out) == 0 {
			return fmt.Errorf("line %d: the checks hold before anything was done", d.Line)
		}
	}
	if err := r.commands(ctx, d.Run, d.Line); err != nil {
		return err
	}
	return r.hold(ctx, d.Until, d.Within)
}

// task is something that the reader is about to do.
type task struct {
	*runner
	*Do
	hints int // given
}

// next lets the reader say one thing; errDone is that the task is done.
func (t *task) next(ctx context.Context) error {
	watch, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t.watch(watch, stop)
	}()
	line, err := t.ask(watch, t.prompt())
	stop(nil)
	<-ended
	if err != nil {
		return err
	}
	return t.obey(ctx, strings.TrimSpace(line))
}

// watch ends the reading when the checks hold.
func (t *task) watch(ctx context.Context, stop context.CancelCauseFunc) {
	if len(t.Until) == 0 {
		return
	}
	out, err := t.probe.await(ctx, t.Until, 24*time.Hour)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		stop(err)
	case len(out) == 0:
		stop(errDone)
	}
}

func (t *task) obey(ctx context.Context, line string) error {
	switch line {
	case "", "check", "next":
		return t.check(ctx)
	case "hint":
		t.hint()
		return nil
	case "skip":
		if err := t.commands(ctx, t.Do.Run, t.Line); err != nil {
			return err
		}
		if err := t.hold(ctx, t.Until, t.Within); err != nil {
			return err
		}
		return errSkipped
	}
	if done, err := t.general(ctx, line); done {
		return err
	}
	if len(t.Until) == 0 {
		t.printf("%s\n", t.faint("Enter goes on."))
		return nil
	}
	out, err := t.probe.await(ctx, t.Until, soon)
	if err == nil && len(out) == 0 {
		return errDone
	}
	return err
}

// check says what is still to be done.
func (t *task) check(ctx context.Context) error {
	if len(t.Until) == 0 {
		return errDone
	}
	out, err := t.probe.look(ctx, t.Until)
	if err != nil {
		return err
	}
	if len(out) == 0 {
		return errDone
	}
	for _, m := range out {
		t.printf("%s", t.wrap(t.bad(t.mark("✗", "x"))+" ", "  ", "Not yet: "+t.named(m.check.String())+"; now "+m.is.String()+"."))
	}
	return nil
}

// hint gives the next one; the last is the solution.
func (t *task) hint() {
	if t.hints < len(t.Hints) {
		t.printf("%s", t.wrap(t.cue("Hint: "), "  ", t.inline(t.named(t.Hints[t.hints]))))
		t.hints++
		return
	}
	t.printf("%s\n", t.cue("This does it:"))
	for _, l := range t.Do.Run {
		t.printf("  %s\n", t.code(l))
	}
	t.printf("%s\n", t.faint("Type it, or \"skip\" to have it done."))
}

// errSkipped is errDone, but for the praise, which was given.
var errSkipped = fmt.Errorf("%w: skipped", errDone)
