// Command ctrlplane runs a Kubernetes control plane in one process.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ctrlplane/ctrlplane/cmd/ctrlplane/earlystderr"
)

func main() {
	earlystderr.Release()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, stop, os.Args[1:])
	stop()
	exit(code)
}

// run returns the exit code: 0, 1 for a failure, 2 for bad usage, or what the verb
// documents.
func run(ctx context.Context, release func(), args []string) int {
	root := newRootCommand()
	root.SetArgs(args)
	// A second signal ends the process at once, as signals do by default.
	context.AfterFunc(ctx, release)
	err := root.ExecuteContext(ctx)
	if text := singleLine(err); text != "" {
		fmt.Fprintf(os.Stderr, "ctrlplane: %s\n", text)
	}
	return exitCode(err)
}

// exit ends the process. Besides main, only a second signal and Kubernetes' own
// fatal errors may do that: nothing after them can return to main.
func exit(code int) { os.Exit(code) }
