package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// runBenchmark runs all contestants in turn. If a run fails or is interrupted, it
// also returns the results so far; nil if there are none.
func runBenchmark(ctx context.Context, o options, progress io.Writer) (_ *results, err error) {
	if err := o.prepareBinaries(ctx, progress); err != nil {
		return nil, err
	}
	res, err := o.newResults(ctx)
	if err != nil {
		return nil, err
	}
	parent, err := os.MkdirTemp("", "ctrlplane-bench-")
	if err != nil {
		return nil, err
	}
	for _, together := range o.groupRuns() {
		samples, err := o.takeSamples(ctx, together, parent, progress)
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), os.RemoveAll(parent))
		}
		res.Samples = append(res.Samples, samples...)
		if err != nil {
			if len(res.Samples) == 0 {
				res = nil
			}
			return res, err // the log that the error names stays
		}
	}
	return res, os.RemoveAll(parent)
}

// takeSamples takes the samples of runs at the same time, without those that have failed.
func (o options) takeSamples(ctx context.Context, together []scheduledRun, parent string, progress io.Writer) (list []sample, _ error) {
	var titles []string
	for _, t := range together {
		titles = append(titles, fmt.Sprintf("run %d of %d: %s", t.run+1, t.total, t.contestant))
	}
	samples := make([]sample, len(together))
	errs := inStep(progress, titles, func(i int) (result string, err error) {
		samples[i], err = o.takeSample(ctx, o.newContestant(together[i].contestant), parent, together[i].run)
		return samples[i].String(), err
	})
	for i, err := range errs {
		if err == nil {
			list = append(list, samples[i])
		}
	}
	return list, errors.Join(errs...)
}

// inStep calls do for each title at the same time. It prints the titles before, and the result of
// each after: behind the title if there is only one.
func inStep(progress io.Writer, titles []string, do func(i int) (result string, err error)) []error {
	results, errs := make([]string, len(titles)), make([]error, len(titles))
	fmt.Fprint(progress, strings.Join(titles, " beside "), " … ")
	var wg sync.WaitGroup
	for i := range titles {
		wg.Go(func() { results[i], errs[i] = do(i) })
	}
	wg.Wait()
	for i, title := range titles {
		if errs[i] != nil {
			results[i] = "failed"
		}
		if len(titles) > 1 {
			results[i] = "\n  " + title + ": " + results[i]
		}
	}
	fmt.Fprintln(progress, strings.Join(results, ""))
	return errs
}

// groupRuns returns all runs in order, those together that run at the same time: with
// -beside, the observation contestants of a round.
func (o options) groupRuns() (groups [][]scheduledRun) {
	for _, t := range o.scheduleRuns() {
		if last := len(groups) - 1; o.beside && last >= 0 && isObservation(t) && isObservation(groups[last][0]) && groups[last][0].run == t.run {
			groups[last] = append(groups[last], t)
			continue
		}
		groups = append(groups, []scheduledRun{t})
	}
	return groups
}

func isObservation(t scheduledRun) bool {
	return slices.Contains(observationContestants(), t.contestant)
}

// scheduledRun is one run of a contestant; run counts from 0.
type scheduledRun struct {
	contestant string
	run, total int
}

// scheduleRuns returns all runs in order. The observation contestants differ by so
// little that none may always be first, so their order is reversed in every second round.
func (o options) scheduleRuns() []scheduledRun {
	var list []scheduledRun
	compared, looking := splitContestants(o.selectedContestants())
	for n := range o.runs {
		for _, name := range compared {
			list = append(list, scheduledRun{name, n, o.runs})
		}
	}
	for n := range o.rounds {
		for _, name := range looking {
			list = append(list, scheduledRun{name, n, o.rounds})
		}
		slices.Reverse(looking)
	}
	return list
}

// prepareBinaries makes paths absolute and builds the missing binaries.
func (o *options) prepareBinaries(ctx context.Context, progress io.Writer) (err error) {
	if err := o.makePathsAbsolute(); err != nil {
		return err
	}
	var ours bool
	build := map[string]bool{}
	for _, name := range o.selectedContestants() {
		c := o.newContestant(name)
		for _, binary := range c.binaries {
			ours = ours || binary == o.ctrlplane
			build[strings.TrimSuffix(filepath.Base(binary), exe)] = true
		}
		build[kubectl] = build[kubectl] || len(o.partsOf(c, withCRDs))+len(o.partsOf(c, standalone)) > 0
	}
	if ours {
		if _, err := os.Stat(o.ctrlplane); err != nil {
			return fmt.Errorf("%w: run \"make build\" first", err)
		}
	}
	return buildUpstream(ctx, o.upstream, build, progress)
}

// takeSample runs a contestant once and records the load of the machine before.
func (o options) takeSample(ctx context.Context, c contestant, parent string, n int) (sample, error) {
	s := sample{Contestant: c.name, Run: n + 1, SpinSeconds: timeFixedWork().Seconds()}
	switch load, err := loadAverage(); {
	case err == nil:
		s.Load = &load
	case !errors.Is(err, errors.ErrUnsupported):
		return s, err
	}
	s.Values = map[string]float64{}
	for _, at := range allLocations() {
		list := o.partsOf(c, at)
		if len(list) == 0 {
			continue
		}
		name := fmt.Sprintf("%s-%d", c.name, n+1)
		if at != inMeasured {
			name += "-" + string(at)
		}
		r, err := newWorkDir(parent, name)
		if err != nil {
			return s, err
		}
		values, err := o.measure(ctx, c, at, list, r)
		if cerr := r.close(); err == nil {
			err = cerr
		}
		if err != nil {
			return s, fmt.Errorf("%s, run %d: %w: see %s", c.name, n+1, err, r.log.Name())
		}
		maps.Copy(s.Values, values)
	}
	return s, nil
}

// progressKeys are the keys of the metrics in the progress line of a run.
var progressKeys = []string{"usable", "rss", "firstPodP50", "pods100x10", "pods500x10", "fullGone", "crdsRSS", "explainNew", "childGone", "runTrue", "stop"}

// String returns the progress line of a run.
func (s sample) String() string {
	var list []string
	for _, m := range allMetrics(time.Second) {
		if value, ok := s.Values[m.key]; ok && slices.Contains(progressKeys, m.key) {
			list = append(list, fmt.Sprintf("%s %s %s", m.label, formatFigure(value), m.unit))
		}
	}
	return strings.Join(list, "; ")
}
