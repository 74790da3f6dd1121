// Package devloop runs a program again whenever its sources change, each time on a control
// plane in the same state. A program that fails is not started again before the next
// change.
package devloop

import (
	"context"
	"time"
)

// Process is one run of the program.
type Process interface {
	// Exited is closed when the program has exited.
	Exited() <-chan struct{}
	// Outcome says how it ended, once it has exited.
	Outcome() string
	// Stop ends it with everything it has started, and returns when that is done. It may
	// have exited by itself.
	Stop()
}

// Program is what to run.
type Program interface {
	// Build does the part of the start that needs no control plane, such as compiling. It
	// ends early if ctx ends. Its error says in one line what is wrong.
	Build(ctx context.Context) error
	// Start starts a run.
	Start() (Process, error)
}

// Loop is the loop of building, running and waiting for a change.
type Loop struct {
	Program Program
	// Prepare brings the control plane to the state in which a run begins. It is called
	// while nothing runs; changed lists the files that have changed since its last
	// success, and is empty for the first run.
	Prepare func(ctx context.Context, changed []string) error
	// Changes delivers files that have changed.
	Changes <-chan []string
	// Report is called for each step, by the goroutine of Run.
	Report func(Event)
}

// Step is what has happened.
type Step int

// The steps.
const (
	Changed  Step = iota // files have changed: the run is stopped, if there is one
	Prepared             // the last run is stopped, and the control plane prepared
	Built                // the program is built
	Started              // a run has started
	Exited               // the run has ended by itself
	Failed               // the run cannot start
)

// Event is a step of the loop.
type Event struct {
	Step  Step
	Run   int           // number of the run that the step belongs to, from 1
	Files []string      // of Changed
	Took  time.Duration // of Prepared and Built: the step; of Started: since the change; of Exited: the run
	Text  string        // of Exited and Failed: why
}

// Run runs the loop until ctx ends, and leaves no run behind.
func (l *Loop) Run(ctx context.Context) {
	var last Process
	var changed []string // since the control plane was prepared
	for run := 1; ctx.Err() == nil; run++ {
		began := time.Now()
		result := l.stopPrepareBuild(ctx, run, last, changed)
		last = nil
		if result.prepared {
			changed = nil
		}
		if result.built && result.prepared && ctx.Err() == nil {
			last = l.start(run, began)
		}
		more := result.changed
		if more == nil {
			more = l.awaitChange(ctx, run, last)
		}
		if more != nil {
			changed = append(changed, more...)
			l.Report(Event{Step: Changed, Run: run + 1, Files: more})
		}
	}
	if last != nil {
		last.Stop()
	}
}

// attempt is how far the start of a run has come.
type attempt struct {
	prepared, built bool
	changed         []string // in the meantime
}

// took is the result of a part of the start.
type took struct {
	err   error
	after time.Duration
}

func inBackground(do func() error) <-chan took {
	done := make(chan took, 1)
	began := time.Now()
	go func() {
		err := do()
		done <- took{err, time.Since(began)}
	}()
	return done
}

// stopPrepareBuild stops the last run and prepares the control plane, and meanwhile builds
// the program. A change ends the build: its result would not be used.
func (l *Loop) stopPrepareBuild(ctx context.Context, run int, last Process, changed []string) (a attempt) {
	building, cancelBuild := context.WithCancel(ctx)
	defer cancelBuild()
	built := inBackground(func() error { return l.Program.Build(building) })
	prepared := inBackground(func() error {
		if last != nil {
			last.Stop()
		}
		return l.Prepare(ctx, changed)
	})
	for built != nil || prepared != nil {
		select {
		case files := <-l.Changes:
			a.changed = append(a.changed, files...)
			cancelBuild()
		case p := <-prepared:
			prepared, a.prepared = nil, p.err == nil
			l.reportPart(ctx, Prepared, run, p)
		case b := <-built:
			built, a.built = nil, b.err == nil && a.changed == nil
			if a.changed == nil {
				l.reportPart(building, Built, run, b)
			}
		}
	}
	return a
}

// reportPart reports a part of the start, unless it was canceled.
func (l *Loop) reportPart(ctx context.Context, step Step, run int, t took) {
	switch {
	case t.err == nil:
		l.Report(Event{Step: step, Run: run, Took: t.after})
	case ctx.Err() == nil:
		l.Report(Event{Step: Failed, Run: run, Text: t.err.Error()})
	}
}

// start starts a run; nil = it has failed.
func (l *Loop) start(run int, began time.Time) Process {
	p, err := l.Program.Start()
	if err != nil {
		l.Report(Event{Step: Failed, Run: run, Text: err.Error()})
		return nil
	}
	l.Report(Event{Step: Started, Run: run, Took: time.Since(began)})
	return p
}

// awaitChange returns the next changed files, or nil when ctx ends. A run that ends in the
// meantime is reported.
func (l *Loop) awaitChange(ctx context.Context, run int, p Process) []string {
	var exited <-chan struct{}
	if p != nil {
		exited = p.Exited()
	}
	began := time.Now()
	for {
		select {
		case files := <-l.Changes:
			return files
		case <-ctx.Done():
			return nil
		case <-exited:
			exited = nil
			p.Stop() // what it has started may still run, and would act on the next state
			l.Report(Event{Step: Exited, Run: run, Took: time.Since(began), Text: p.Outcome()})
		}
	}
}
