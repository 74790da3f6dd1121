package main

import (
	"errors"
	"flag"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// options are the values of the flags.
type options struct {
	ctrlplane    string
	baseline     string
	upstream     string
	only         string
	parts        []string // of -only; empty = all that the contestants support
	runs         int
	rounds       int
	beside       bool // contestants of cost and workloads run at the same time
	idle         time.Duration
	timeout      time.Duration
	quick        bool
	json         string
	doc          string
	compare      string
	compareWith  string // results to compare with, instead of running
	growth       bool
	sizes        string
	profileStart bool
	svg          string
	churn        time.Duration // 0 = not that
	build        bool
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are printed once, by main
	f.StringVar(&o.ctrlplane, "ctrlplane", "bin/ctrlplane", "the `binary` to measure")
	f.StringVar(&o.baseline, "baseline", "", "another ctrlplane `binary` to run in turn with it, with -only workloads")
	f.StringVar(&o.upstream, "upstream", "bin/upstream", "`folder` of the upstream binaries; missing and outdated ones are built")
	f.StringVar(&o.only, "only", "", "contestants to run, parts to measure, or both, as a comma-separated `list`; contestants: "+strings.Join(contestantChoices(), ", ")+", where cost stands for the three that measure the cost of observation; parts: "+strings.Join(partNames(), ", ")+"; or workloads, Pods on simulated nodes, which names of its contestants and parts may follow")
	f.IntVar(&o.runs, "runs", 5, "number of runs of each contestant")
	f.IntVar(&o.rounds, "rounds", 6, "number of runs of each contestant of cost")
	f.BoolVar(&o.beside, "beside", false, "run the contestants of cost, or of workloads, at the same time: on a noisy machine their CPU can be compared, their times cannot")
	f.DurationVar(&o.idle, "idle", 10*time.Second, "idle time before the memory of a control plane is measured")
	f.DurationVar(&o.timeout, "timeout", 15*time.Minute, "timeout of each wait")
	f.BoolVar(&o.quick, "quick", false, "run each contestant only twice, unless -runs or -rounds is given")
	f.StringVar(&o.json, "json", "bin/bench.json", "`file` to write all samples to")
	f.StringVar(&o.doc, "doc", "", "Markdown `file` to write the result into, between the comments that mark its place; created if it does not exist")
	f.BoolVar(&o.growth, "growth", false, "measure the cost of a Pod with an increasing number of them instead, and draw it; the figures are written next to the picture as .json")
	f.StringVar(&o.sizes, "sizes", "1000,5000,20000,50000", "numbers of Pods for -growth, as a comma-separated `list`")
	f.BoolVar(&o.profileStart, "profile-start", false, "measure the stages of one start instead, and draw them")
	f.StringVar(&o.svg, "svg", "", "SVG `file` for the picture of -growth or -profile-start (default docs/growth.svg or docs/start.svg)")
	f.DurationVar(&o.churn, "churn", 0, "instead, create and delete Pods for this long with the live view attached, and measure what grows")
	f.BoolVar(&o.build, "build", false, "only build the upstream binaries")
	f.StringVar(&o.compare, "compare", "", "results `file` of an earlier run to compare with; if a newer file follows as an argument, nothing is run")
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(stderr)
		f.PrintDefaults()
		return o, err
	case err != nil:
		return o, usage.Errorf("%v", err)
	case f.NArg() == 1 && o.compare != "":
		o.compareWith = f.Arg(0)
	case f.NArg() > 0:
		return o, usage.Errorf("unexpected argument %q", f.Arg(0))
	}
	if err := o.validate(); err != nil {
		return o, err
	}
	o.setDefaults(f)
	return o, o.parseOnly()
}

func (o *options) validate() error {
	switch {
	case o.runs < 1:
		return usage.Errorf("-runs %d: must be at least 1", o.runs)
	case o.growth && o.profileStart:
		return usage.Errorf("-growth and -profile-start exclude each other: use one of them")
	case o.churn < 0:
		return usage.Errorf("-churn %v: must be positive", o.churn)
	case o.rounds < 1:
		return usage.Errorf("-rounds %d: must be at least 1", o.rounds)
	case o.idle <= 0 || o.timeout <= 0:
		return usage.Errorf("-idle and -timeout must be positive")
	case o.growth:
		_, err := parseSizes(o.sizes)
		return err
	}
	return nil
}

// setDefaults sets the options whose defaults depend on other flags.
func (o *options) setDefaults(f *flag.FlagSet) {
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
}

// quickRuns is the number of runs with -quick.
const quickRuns = 2

// parseOnly splits the value of -only into contestants and parts.
func (o *options) parseOnly() error {
	if o.only == "" {
		return nil
	}
	if o.isWorkloads() {
		return o.checkWorkloadSelection()
	}
	var contestants []string
	for _, name := range strings.Split(o.only, ",") {
		switch {
		case slices.Contains(contestantChoices(), name):
			contestants = append(contestants, name)
		case slices.Contains(partNames(), name):
			o.parts = append(o.parts, name)
		default:
			return usage.Errorf("-only: unknown contestant or part %q: choose from %s", name, strings.Join(append(contestantChoices(), partNames()...), ","))
		}
	}
	o.only = strings.Join(contestants, ",")
	if len(o.selectedContestants()) == 0 {
		return usage.Errorf("-only: %s does not support %s", o.only, strings.Join(o.parts, ","))
	}
	return nil
}

// contestantChoices returns the contestants that -only accepts.
func contestantChoices() []string { return append(contestantNames(), "cost") }

// selectedContestants returns the contestants to run: those that are named, or all, if
// they support one of the selected parts. It expands cost.
func (o options) selectedContestants() []string {
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
