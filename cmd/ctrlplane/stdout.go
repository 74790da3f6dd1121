package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ctrlplane/ctrlplane/ui"
)

// endableStdout is stdout for a verb that ends with ctx, also if stdout is not read.
func endableStdout(ctx context.Context) io.Writer { return endable(ctx, os.Stdout) }

// endable is stdout, or what watches it, for what ends with ctx.
func endable(ctx context.Context, stdout io.Writer) io.Writer {
	return ui.NewEndableWriter(ctx, stdout, func() { warnUnread(ctx) })
}

// watchedStdout is stdout for a verb that shows what goes on: once it cannot be written, the verb
// ends, as everything else would go on unseen. Its writes do not fail: joinLoss says why the verb
// has ended.
type watchedStdout struct {
	end  context.CancelCauseFunc
	hint string // what to do if nothing reads stdout
}

func (w *watchedStdout) Write(p []byte) (int, error) {
	switch _, err := os.Stdout.Write(p); {
	case isClosedOutput(err):
		w.end(&lostStdoutError{errors.New("stopped: nothing reads stdout any more: " + w.hint)})
	case err != nil:
		w.end(&lostStdoutError{fmt.Errorf("stopped: cannot write the output: %w", err)})
	}
	return len(p), nil
}

// lostStdoutError is the cause of the end of a verb whose stdout cannot be written.
type lostStdoutError struct{ error }

// joinLoss adds to the error of a verb that the loss of stdout has ended it, unless err says so.
func joinLoss(ctx context.Context, err error) error {
	lost, ok := errors.AsType[*lostStdoutError](context.Cause(ctx))
	if !ok || errors.Is(err, lost) {
		return err
	}
	return errors.Join(lost, err)
}

// warnUnread says that the end of the output is missing.
func warnUnread(ctx context.Context) {
	writeWarning(endableStderr(ctx), "stdout was not read: the end of the output is missing")
}

// endableStderr is errorOutput for a verb that ends with ctx: it may be what stdout is.
func endableStderr(ctx context.Context) io.Writer {
	return ui.NewEndableWriter(ctx, errorOutput(), nil)
}
