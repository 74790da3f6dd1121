// Command bench compares ctrlplane with etcd, kube-apiserver and
// kube-controller-manager, which it builds from the same module graph.
//
// The contestants run in turn, several times (A B A B), each in a folder of its
// own on free loopback ports. No run is discarded, the first included. What
// each figure means is said by metrics, and printed below the table.
//
// What looking costs is told by three more, ctrlplane with all its hooks off,
// with all on, and with a view attached, in rounds there and back (A B C C B A).
//
// Given the name of a second results file after -compare, it runs nothing and
// compares the two.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	ctrlplane string
	upstream  string
	only      string
	runs      int
	rounds    int
	idle      time.Duration
	timeout   time.Duration
	big       bool
	json      string
	compare   string
	newer     string // compare with this instead of running
}

var errUsage = errors.New("see -help")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	var old *results
	if o.compare != "" {
		if old, err = load(o.compare); err != nil {
			return err
		}
	}
	if o.newer != "" {
		newer, err := load(o.newer)
		if err != nil {
			return err
		}
		_, err = io.WriteString(stdout, comparison(old, newer))
		return err
	}
	res, err := benchmark(ctx, o, stderr)
	if res == nil {
		return err
	}
	text := report(res)
	if old != nil {
		text += "\n" + comparison(old, res)
	}
	if _, werr := io.WriteString(stdout, text); err == nil {
		err = werr
	}
	if err != nil {
		return err // a file that lacks runs is not to replace a whole one
	}
	return save(o.json, res)
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are printed once, by main
	f.StringVar(&o.ctrlplane, "ctrlplane", "bin/ctrlplane", "the `binary` to measure")
	f.StringVar(&o.upstream, "upstream", "bin/upstream", "`folder` of the upstream binaries; what is missing or of another version is built")
	f.StringVar(&o.only, "only", strings.Join(choices(), ","), "contestants to run, as a comma-separated `list`; cost is the three that tell what looking costs")
	f.IntVar(&o.runs, "runs", 5, "runs of each contestant")
	f.IntVar(&o.rounds, "rounds", 6, "runs of each of those of cost")
	f.DurationVar(&o.idle, "idle", 10*time.Second, "how long a control plane is left alone before its memory is read")
	f.DurationVar(&o.timeout, "timeout", 15*time.Minute, "longest wait for any one thing")
	f.BoolVar(&o.big, "big", false, "add 500 Deployments of 10 replicas; minutes for a throttled contestant")
	f.StringVar(&o.json, "json", "bench/out.json", "`file` for all samples")
	f.StringVar(&o.compare, "compare", "", "results `file` of an earlier run to compare with; followed by a newer one, nothing is run")
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(stderr)
		f.PrintDefaults()
		return o, err
	case err != nil:
		return o, usagef("%v", err)
	case f.NArg() == 1 && o.compare != "":
		o.newer = f.Arg(0)
	case f.NArg() > 0:
		return o, usagef("unexpected argument %q", f.Arg(0))
	case o.runs < 1:
		return o, usagef("-runs %d: at least 1 is needed", o.runs)
	case o.rounds < 1:
		return o, usagef("-rounds %d: at least 1 is needed", o.rounds)
	case o.idle <= 0 || o.timeout <= 0:
		return o, usagef("-idle and -timeout must be positive")
	}
	for _, name := range strings.Split(o.only, ",") {
		if !slices.Contains(choices(), name) {
			return o, usagef("-only: no contestant %q: choose from %s", name, strings.Join(choices(), ","))
		}
	}
	return o, nil
}

// choices are what -only may name.
func choices() []string { return append(names(), "cost") }

// contestants are those to run, with what cost stands for.
func (o options) contestants() []string {
	var list []string
	for _, name := range strings.Split(o.only, ",") {
		if name == "cost" {
			list = append(list, looks()...)
		} else {
			list = append(list, name)
		}
	}
	return list
}

func usagef(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, errUsage)...)
}
