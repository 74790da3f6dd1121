//go:build linux

// Command torture kills, starves and provokes ctrlplane for a given time, and counts
// what it survived.
//
// A kind is one way to do so. Its rounds run in a folder of their own each; a round is
// lost if an acknowledged write is missing afterwards, if state is neither that before
// nor that after an operation, or if the program hangs or fails without a reason in one
// line. The folder of a lost round is kept: "log" says what was done, with all output.
//
// The program is only used as users do, by its command line and its API.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane/tools/internal/command"
)

var errLost = errors.New("rounds were lost")

func main() { command.Main("torture", run) }

// run tortures until the time is over or the context ends, and prints the table.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	klog.SetLogger(logr.Discard()) // client-go reports every connection that breaks
	c, err := newCampaign(o, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "seed %d, %v, %d at a time\n", o.seed, o.duration, o.parallel)
	c.run(ctx)
	if _, err := io.WriteString(stdout, formatTable(c.tallies)); err != nil {
		return err
	}
	if n := c.lost(); n > 0 {
		return fmt.Errorf("%d %w: see %s, and run it again with -seed %d", n, errLost, o.keep, o.seed)
	}
	return nil
}
