package main

import (
	"context"
	"io"
	"os"

	"github.com/ctrlplane/ctrlplane/ui"
)

// endableStdout is stdout for a verb that ends with ctx, also if stdout is not read.
func endableStdout(ctx context.Context) io.Writer {
	return ui.NewEndableWriter(ctx, os.Stdout, func() { warnUnread(ctx) })
}

// warnUnread says that the end of the output is missing.
func warnUnread(ctx context.Context) {
	writeWarning(endableStderr(ctx), "stdout was not read: the end of the output is missing")
}

// endableStderr is errorOutput for a verb that ends with ctx: it may be what stdout is.
func endableStderr(ctx context.Context) io.Writer {
	return ui.NewEndableWriter(ctx, errorOutput(), nil)
}
