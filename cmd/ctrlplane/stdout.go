package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/ctrlplane/ctrlplane/ui"
)

// endableStdout is stdout for a verb that ends with ctx, also if stdout is not read.
func endableStdout(ctx context.Context) io.Writer {
	return ui.NewEndableWriter(ctx, os.Stdout, func() { warnUnread(ctx) })
}

var errStdoutClosed = errors.New("stopped: nothing reads stdout any more: use --ui none or --detach")

// watchedStdout is stdout; once it is closed, it ends what is shown there.
type watchedStdout struct{ end context.CancelCauseFunc }

func (w *watchedStdout) Write(p []byte) (int, error) {
	n, err := os.Stdout.Write(p)
	if isClosedOutput(err) {
		w.end(errStdoutClosed)
	}
	return n, err
}

// warnUnread says that the end of the output is missing.
func warnUnread(ctx context.Context) {
	writeWarning(endableStderr(ctx), "stdout was not read: the end of the output is missing")
}

// endableStderr is errorOutput for a verb that ends with ctx: it may be what stdout is.
func endableStderr(ctx context.Context) io.Writer {
	return ui.NewEndableWriter(ctx, errorOutput(), nil)
}
