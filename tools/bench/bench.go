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
	"time"
)

// benchmark runs all contestants in turn. If a run fails, or is interrupted, it
// returns what was measured before as well, nil if nothing was.
func benchmark(ctx context.Context, o options, progress io.Writer) (_ *results, err error) {
	if err := o.prepare(ctx, progress); err != nil {
		return nil, err
	}
	res, err := o.describe(ctx)
	if err != nil {
		return nil, err
	}
	parent, err := os.MkdirTemp("", "ctrlplane-bench-")
	if err != nil {
		return nil, err
	}
	for _, t := range o.turns() {
		fmt.Fprintf(progress, "run %d of %d: %s … ", t.run+1, t.of, t.contestant)
		s, err := o.sample(ctx, o.contestant(t.contestant), parent, t.run)
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), os.RemoveAll(parent))
		}
		if err != nil {
			fmt.Fprintln(progress, "failed")
			if len(res.Samples) == 0 {
				res = nil
			}
			return res, err // and leave the log that it names
		}
		res.Samples = append(res.Samples, s)
		fmt.Fprintln(progress, s)
	}
	return res, os.RemoveAll(parent)
}

// turn is one run of a contestant, from 0.
type turn struct {
	contestant string
	run, of    int
}

// turns are all runs in order. The looks differ by so little that none may
// always come first, so every second round goes the other way.
func (o options) turns() []turn {
	var list []turn
	compared, looking := split(o.contestants())
	for n := range o.runs {
		for _, name := range compared {
			list = append(list, turn{name, n, o.runs})
		}
	}
	for n := range o.rounds {
		for _, name := range looking {
			list = append(list, turn{name, n, o.rounds})
		}
		slices.Reverse(looking)
	}
	return list
}

// prepare makes paths absolute, since children work in folders of their own,
// and sees to it that all binaries are there.
func (o *options) prepare(ctx context.Context, progress io.Writer) (err error) {
	if o.ctrlplane, err = filepath.Abs(o.ctrlplane); err != nil {
		return err
	}
	if o.upstream, err = filepath.Abs(o.upstream); err != nil {
		return err
	}
	var ours bool
	build := map[string]bool{}
	for _, name := range o.contestants() {
		c := o.contestant(name)
		for _, binary := range c.binaries {
			ours = ours || binary == o.ctrlplane
			build[strings.TrimSuffix(filepath.Base(binary), exe)] = true
		}
		build[kubectl] = build[kubectl] || len(o.partsOf(c, beside))+len(o.partsOf(c, alone)) > 0
	}
	if ours {
		if _, err := os.Stat(o.ctrlplane); err != nil {
			return fmt.Errorf("%w: build it first (make build)", err)
		}
	}
	return buildUpstream(ctx, o.upstream, build, progress)
}

// sample is one run with what the machine was like before it.
func (o options) sample(ctx context.Context, c contestant, parent string, n int) (sample, error) {
	s := sample{Contestant: c.name, Run: n + 1, SpinSeconds: spin().Seconds()}
	switch load, err := loadAverage(); {
	case err == nil:
		s.Load = &load
	case !errors.Is(err, errors.ErrUnsupported):
		return s, err
	}
	s.Values = map[string]float64{}
	for _, at := range places() {
		list := o.partsOf(c, at)
		if len(list) == 0 {
			continue
		}
		name := fmt.Sprintf("%s-%d", c.name, n+1)
		if at != here {
			name += "-" + string(at)
		}
		r, err := newRoom(parent, name)
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

// told are the keys of what the line of progress of a run says.
var told = []string{"usable", "rss", "firstPodP50", "pods100x10", "pods500x10", "fullGone", "crdsRSS", "explainNew", "childGone", "runTrue", "stop"}

// String is the line of progress of a run.
func (s sample) String() string {
	var list []string
	for _, m := range metrics(time.Second) {
		if value, ok := s.Values[m.key]; ok && slices.Contains(told, m.key) {
			list = append(list, fmt.Sprintf("%s %s %s", m.label, figure(value), m.unit))
		}
	}
	return strings.Join(list, "; ")
}
