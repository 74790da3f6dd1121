package learn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// errTaskDone says that the reader's task is done.
var errTaskDone = errors.New("it is done")

// effectWait is how long to wait for the effects of a command before the next prompt.
const effectWait = 1500 * time.Millisecond

// runDo gives the reader a task and waits until it is done.
func (r *runner) runDo(ctx context.Context, d *Do) error {
	if len(d.Until) > 0 { // otherwise the previous task is still the subject
		if err := r.probe.markStart(ctx); err != nil {
			return err
		}
	}
	if !r.replaying {
		if err := r.printPaged(ctx, r.formatTask(d)); err != nil {
			return err
		}
	}
	if r.Auto || r.replaying {
		return r.performDo(ctx, d)
	}
	t := &task{runner: r, Do: d, awaited: r.newAwaited(24 * time.Hour)}
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

func (r *runner) formatTask(d *Do) string {
	return r.wrap(r.formatCue(r.Glyph("▶ Your turn: ", "> Your turn: ")), "  ", r.renderInline(r.substituteNamespace(d.Say))) + "\n"
}

// performDo performs the reader's task. With Auto it is an error if the checks hold
// before: they would not detect whether the task was done.
func (r *runner) performDo(ctx context.Context, d *Do) error {
	if r.Auto && !r.replaying && len(d.Until) > 0 {
		out, err := r.probe.unmetChecks(ctx, d.Until)
		if err != nil {
			return err
		}
		if len(out) == 0 {
			return fmt.Errorf("line %d: the checks hold before the task is done", d.Line)
		}
	}
	if err := r.runCommands(ctx, d.Run, d.Line); err != nil {
		return err
	}
	return r.requireChecks(ctx, d.Until, d.Within)
}

// task is the reader's current task.
type task struct {
	*runner
	*Do
	awaited      *awaited
	hintsGiven   int
	failedChecks int
}

// readCommand reads and executes one line of the reader. It returns errTaskDone when
// the task is done.
func (t *task) readCommand(ctx context.Context) error {
	watch, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var watching sync.WaitGroup
	watching.Go(func() { t.watchChecks(watch, stop) })
	line, err := t.readCommandLine(watch, t.shellPrompt())
	stop(nil)
	watching.Wait()
	if err != nil {
		return err
	}
	_, err = t.runInterruptibly(ctx, func(ctx context.Context) error { return t.handleLine(ctx, strings.TrimSpace(line)) })
	return err
}

// watchChecks interrupts the reading when the checks hold.
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
		return t.skip(ctx)
	}
	if done, err := t.handleGeneral(ctx, line); done || err != nil {
		return err
	}
	if len(t.Until) == 0 {
		t.printf("%s\n", t.faint("Press Enter to continue."))
		return nil
	}
	out, err := t.awaitEffect(ctx)
	if err != nil {
		return err
	}
	switch {
	case t.exitCode != 0 && slices.Contains(t.Do.Run, line):
		t.printWayOut()
	case t.exitCode == 0 && slices.ContainsFunc(t.Do.Run, func(solution string) bool { return isSameVerb(solution, line) }):
		t.awaited.tell(out)
	}
	return nil
}

// isSameVerb reports whether two command lines begin with the same words, as "kubectl create deployment".
func isSameVerb(a, b string) bool {
	verb := func(line string) []string {
		words := strings.Fields(line)
		return words[:min(len(words), 3)]
	}
	return slices.Equal(verb(a), verb(b))
}

// maxFailedChecks is after how many checks that fail the way out is named.
const maxFailedChecks = 2

// printWayOut says what to do where an earlier command of the reader prevents the solution.
func (t *task) printWayOut() {
	t.printf("%s", t.wrap("", "", t.faint(`If an earlier command has made it impossible: "skip" sets the lesson up again and does this task.`)))
}

// awaitEffect waits a moment for the effects of a command.
func (t *task) awaitEffect(ctx context.Context) (out []*unmetCheck, err error) {
	out, err = t.probe.awaitChecks(ctx, t.Until, effectWait)
	if err == nil && len(out) == 0 {
		return nil, errTaskDone
	}
	return out, err
}

// checkNow prints which checks do not hold.
func (t *task) checkNow(ctx context.Context) error {
	if len(t.Until) == 0 {
		return errTaskDone
	}
	out, err := t.probe.unmetChecks(ctx, t.Until)
	if isUnreachable(err) {
		t.printf("%s", t.wrap(t.bad(t.Glyph("✗", "x"))+" ", "  ", "The control plane does not answer. The lesson goes on when it has started again."))
		return nil
	}
	if err != nil {
		return err
	}
	if len(out) == 0 {
		return errTaskDone
	}
	if err := t.requireNamespace(ctx); err != nil {
		return err
	}
	for _, m := range out {
		text := m.plain(t.substituteNamespace)
		if !m.isExplained() {
			text = "Missing: " + text
		}
		t.printf("%s", t.wrap(t.bad(t.Glyph("✗", "x"))+" ", "  ", t.renderInline(text)))
	}
	t.printInterventions(t.lastingInterventions(ctx))
	if t.failedChecks++; t.failedChecks >= maxFailedChecks {
		t.printWayOut()
	}
	return nil
}

// printHint prints the next hint; the last one is the solution.
func (t *task) printHint() {
	if t.hintsGiven < len(t.Hints) {
		t.printf("%s", t.wrap(t.formatCue("Hint: "), "  ", t.renderInline(t.substituteNamespace(t.Hints[t.hintsGiven]))))
		t.hintsGiven++
		return
	}
	t.printf("%s\n", t.formatCue("Solution:"))
	for _, l := range t.Do.Run {
		t.printf("  %s\n", t.code(l))
	}
	t.printf("%s\n", t.faint("Type it, or \"skip\" to have it run for you."))
}

// errTaskSkipped is errTaskDone when the passed checks have already been printed.
var errTaskSkipped = fmt.Errorf("%w: skipped", errTaskDone)
