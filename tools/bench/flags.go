package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	ctrlplane    string
	upstream     string
	only         string
	parts        []string // of only; none = all that make sense
	runs         int
	rounds       int
	idle         time.Duration
	timeout      time.Duration
	quick        bool
	json         string
	doc          string
	compare      string
	compareWith  string // compare with this instead of running
	growth       bool
	sizes        string
	profileStart bool
	svg          string
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are printed once, by main
	f.StringVar(&o.ctrlplane, "ctrlplane", "bin/ctrlplane", "the `binary` to measure")
	f.StringVar(&o.upstream, "upstream", "bin/upstream", "`folder` of the upstream binaries; what is missing or of another version is built")
	f.StringVar(&o.only, "only", "", "contestants to run, parts to measure, or both, as a comma-separated `list`; contestants: "+strings.Join(contestantChoices(), ", ")+", where cost is the three that tell what looking costs; parts: "+strings.Join(partNames(), ", ")+"; or workloads alone: Pods on simulated nodes")
	f.IntVar(&o.runs, "runs", 5, "runs of each contestant")
	f.IntVar(&o.rounds, "rounds", 6, "runs of each of those of cost")
	f.DurationVar(&o.idle, "idle", 10*time.Second, "how long a control plane is left alone before its memory is read")
	f.DurationVar(&o.timeout, "timeout", 15*time.Minute, "longest wait for any one thing")
	f.BoolVar(&o.quick, "quick", false, "two runs of each only, unless -runs and -rounds say otherwise")
	f.StringVar(&o.json, "json", "bin/bench.json", "`file` for all samples")
	f.StringVar(&o.doc, "doc", "", "`file` of Markdown to write the result into, between the comments that mark its place; made if it is not there")
	f.BoolVar(&o.growth, "growth", false, "measure instead what a Pod costs when there are many, and draw it; the figures go beside the picture, as .json")
	f.StringVar(&o.sizes, "sizes", "1000,5000,20000,50000", "how many Pods -growth looks at, as a comma-separated `list`")
	f.BoolVar(&o.profileStart, "profile-start", false, "take one start apart instead, and draw its stages")
	f.StringVar(&o.svg, "svg", "", "picture of -growth or -profile-start, as a `file` of SVG (default docs/growth.svg or docs/start.svg)")
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
		o.compareWith = f.Arg(0)
	case f.NArg() > 0:
		return o, usagef("unexpected argument %q", f.Arg(0))
	case o.runs < 1:
		return o, usagef("-runs %d: at least 1 is needed", o.runs)
	case o.growth && o.profileStart:
		return o, usagef("-growth and -profile-start are two things: use one of them")
	case o.rounds < 1:
		return o, usagef("-rounds %d: at least 1 is needed", o.rounds)
	case o.idle <= 0 || o.timeout <= 0:
		return o, usagef("-idle and -timeout must be positive")
	}
	if o.quick {
		given := map[string]bool{}
		f.Visit(func(f *flag.Flag) { given[f.Name] = true })
		for name, n := range map[string]*int{"runs": &o.runs, "rounds": &o.rounds} {
			if !given[name] {
				*n = quickRuns
			}
		}
	}
	if o.svg == "" {
		o.svg = "docs/growth.svg"
		if o.profileStart {
			o.svg = "docs/start.svg"
		}
	}
	if o.growth {
		if _, err := parseSizes(o.sizes); err != nil {
			return o, err
		}
	}
	return o, o.parseOnly()
}

// quickRuns are those of -quick.
const quickRuns = 2

// parseOnly takes what -only says apart.
func (o *options) parseOnly() error {
	if o.only == "" || o.only == workloads {
		return nil
	}
	var contestants []string
	for _, name := range strings.Split(o.only, ",") {
		switch {
		case slices.Contains(contestantChoices(), name):
			contestants = append(contestants, name)
		case slices.Contains(partNames(), name):
			o.parts = append(o.parts, name)
		default:
			return usagef("-only: no contestant or part %q: choose from %s", name, strings.Join(append(contestantChoices(), partNames()...), ","))
		}
	}
	o.only = strings.Join(contestants, ",")
	if len(o.selectedContestants()) == 0 {
		return usagef("-only: %s is nothing that %s can do", strings.Join(o.parts, ","), o.only)
	}
	return nil
}

// contestantChoices are the contestants that -only may name.
func contestantChoices() []string { return append(contestantNames(), "cost") }

// selectedContestants are those to run, with what cost stands for: of those that are
// named, or of all, those that have any of the parts to be measured.
func (o options) selectedContestants() []string {
	if o.only == workloads {
		return []string{workloads}
	}
	named := contestantChoices()
	if o.only != "" {
		named = strings.Split(o.only, ",")
	}
	var list []string
	for _, name := range named {
		if name == "cost" {
			list = append(list, observationContestants()...)
		} else {
			list = append(list, name)
		}
	}
	return slices.DeleteFunc(list, func(name string) bool {
		c := o.newContestant(name)
		return !slices.ContainsFunc(allLocations(), func(at location) bool { return len(o.partsOf(c, at)) > 0 })
	})
}

func usagef(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, errUsage)...)
}
