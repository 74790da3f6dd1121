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
	os.Exit(code)
}

// run returns the exit code: 0, 1 for a failure, 2 for bad usage.
func run(ctx context.Context, release func(), args []string) int {
	root := newRootCommand()
	root.SetArgs(args)
	// A second signal ends the process at once, as signals do by default.
	context.AfterFunc(ctx, release)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "ctrlplane: %s\n", singleLine(err))
	}
	return exitCode(err)
}
