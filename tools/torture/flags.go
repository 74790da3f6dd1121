//go:build linux

package main

import (
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// options are the values of the flags.
type options struct {
	ctrlplane string
	etcd      string
	clock     string
	duration  time.Duration
	rounds    int // of each kind; 0 = until the time is over
	seed      uint64
	parallel  int
	keep      string
	only      []string // kinds; empty = all
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	var only string
	f := flag.NewFlagSet("torture", flag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are printed once, by main
	f.StringVar(&o.ctrlplane, "ctrlplane", "bin/ctrlplane", "the `binary` to torture")
	f.StringVar(&o.etcd, "etcd", "bin/upstream/etcd", "the etcd `binary` that two control planes share")
	f.StringVar(&o.clock, "clock", "bin/ctrlplane-clock", "the `binary` whose clock can be changed, built with the files in tools/torture/clock")
	f.DurationVar(&o.duration, "duration", time.Hour, "when no more rounds begin")
	f.IntVar(&o.rounds, "rounds", 0, "number of rounds of each kind, within the duration; 0 = no limit")
	f.Uint64Var(&o.seed, "seed", rand.Uint64(), "seed of all random choices; default: a random one, which is printed")
	f.IntVar(&o.parallel, "parallel", min(runtime.NumCPU(), 4), "rounds at a time")
	f.StringVar(&o.keep, "keep", "bin/torture-lost", "`folder` for what lost rounds leave behind")
	f.StringVar(&only, "only", "", "kinds to run, as a comma-separated `list`: "+strings.Join(kindNames(), ", "))
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(stderr)
		f.PrintDefaults()
		return o, err
	case err != nil:
		return o, usage.Errorf("%v", err)
	case f.NArg() > 0:
		return o, usage.Errorf("unexpected argument %q", f.Arg(0))
	case o.duration <= 0 || o.parallel < 1 || o.rounds < 0:
		return o, usage.Errorf("-duration and -parallel must be positive, -rounds not negative")
	}
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	for _, path := range []*string{&o.ctrlplane, &o.etcd, &o.clock, &o.keep} {
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return o, err
		}
		*path = absolute
	}
	return o, nil
}
