// Package command runs a tool as a program.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/ctrlplane/ctrlplane/internal/endsignals"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Main runs a tool until it ends or a signal cancels the context. The exit status is 2 for a usage.Error, and 1 for any other.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), endsignals.List()...)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.As(err, new(usage.Error)):
		fmt.Fprintf(os.Stderr, "%s: %v: see -help\n", name, err)
		os.Exit(2)
	default:
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
