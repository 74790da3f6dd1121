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
	// Ready is closed when everything is done that needs no control plane, such as
	// compiling.
	Ready() <-chan struct{}
	// Begin lets the program begin, once it is ready.
	Begin() error
	// Exited is closed when the run has ended, ready or not.
	Exited() <-chan struct{}
	// Outcome says how it has ended, once it has exited.
	Outcome() string
	// Stop ends it with everything it has started, and returns when that is done. It may
	// have exited by itself.
	Stop()
}

// Loop is the loop of building, running and waiting for a change.
type Loop struct {
	// Start starts a run, up to the point where it needs the control plane.
	Start func() (Process, error)
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
	Ready                // everything is done that needs no control plane
	Began                // the program has begun
	Exited               // the run has ended by itself, ready or not
	Failed               // the run cannot begin
)

// Event is a step of the loop.
type Event struct {
	Step  Step
	Run   int           // number of the run that the step belongs to, from 1
	Files []string      // of Changed
	Took  time.Duration // since the change; of Exited: since the program has begun
	Text  string        // of Exited and Failed: why
}

// Run runs the loop until ctx ends, and leaves no run behind.
func (l *Loop) Run(ctx context.Context) {
	var changed []string // since the control plane was prepared
	stopLast := func() {}
	for n := 1; ctx.Err() == nil; n++ {
		r := &run{Loop: l, number: n, at: time.Now()}
		if r.start(); r.prepare(ctx, stopLast, changed) {
			changed = nil
		}
		stopLast = r.stop
		if more := r.watch(ctx); more != nil {
			changed = append(changed, more...)
			l.Report(Event{Step: Changed, Run: n + 1, Files: more})
		}
	}
	stopLast()
}

// run is one pass of the loop.
type run struct {
	*Loop
	number   int
	at       time.Time // of the change; after Begin, of that
	process  Process   // nil = it could not be started
	prepared bool
	changed  []string // while it was prepared
}

func (r *run) report(step Step, text string) {
	r.Report(Event{Step: step, Run: r.number, Took: time.Since(r.at), Text: text})
}

func (r *run) stop() {
	if r.process != nil {
		r.process.Stop()
	}
}

func (r *run) start() {
	p, err := r.Start()
	if err != nil {
		r.report(Failed, err.Error())
		return
	}
	r.process = p
}

// prepare stops the last run and prepares the control plane, which a change does not
// interrupt.
func (r *run) prepare(ctx context.Context, stopLast func(), changed []string) bool {
	done := make(chan error, 1)
	go func() {
		stopLast()
		done <- r.Prepare(ctx, changed)
	}()
	for {
		select {
		case files := <-r.Changes:
			r.changed = append(r.changed, files...)
		case err := <-done:
			r.prepared = err == nil
			switch {
			case err == nil:
				r.report(Prepared, "")
			case ctx.Err() == nil:
				r.report(Failed, err.Error())
			}
			return r.prepared
		}
	}
}

// watch lets the program begin when it is ready, and returns the next changed files, or
// nil when ctx ends.
func (r *run) watch(ctx context.Context) []string {
	if r.changed != nil {
		return r.changed
	}
	var ready, exited <-chan struct{}
	if r.process != nil {
		exited = r.process.Exited()
	}
	if r.process != nil && r.prepared {
		ready = r.process.Ready()
	}
	for {
		select {
		case files := <-r.Changes:
			return files
		case <-ctx.Done():
			return nil
		case <-ready:
			if ready = nil; ctx.Err() == nil {
				r.begin()
			}
		case <-exited:
			exited, ready = nil, nil
			r.process.Stop() // what it has started may still run, and would act on the next state
			r.report(Exited, r.process.Outcome())
		}
	}
}

func (r *run) begin() {
	r.report(Ready, "")
	if err := r.process.Begin(); err != nil {
		r.report(Failed, err.Error())
		return
	}
	r.report(Began, "")
	r.at = time.Now()
}
