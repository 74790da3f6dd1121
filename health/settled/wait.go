package settled

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	pollInterval     = 25 * time.Millisecond  // between checks, at first
	maxPollInterval  = 250 * time.Millisecond // between checks, after a while
	recheckInterval  = 10 * time.Millisecond  // after a check that found no work
	requiredChecks   = 2                      // in a row that must find no work
	progressInterval = 500 * time.Millisecond // between progress reports, at first
	maxProgress      = 10 * time.Second       // between progress reports, after a while
	recentTime       = time.Second            // how long work counts whose effects are awaited
)

// Source returns snapshots of a control plane.
type Source interface {
	Snapshot(context.Context) (observe.Snapshot, error)
}

// BusyError has the remaining work of a control plane that did not settle.
type BusyError struct {
	Work  []Work
	Cause error // why the wait ended
}

// NewBusyError returns the error of a wait that has ended with remaining work, or before it was known whether there is
// some.
func NewBusyError(work []Work, cause error) *BusyError {
	if len(work) == 0 {
		work = []Work{{Where: "control plane", What: []string{"too few answers before the deadline"}}}
	}
	return &BusyError{Work: work, Cause: cause}
}

// Error names up to three places with remaining work.
func (e *BusyError) Error() string {
	names := make([]string, len(e.Work))
	for i, w := range e.Work {
		if names[i] = w.Where; w.Waits != "" {
			names[i] += " (" + w.Waits + ")"
		}
	}
	return fmt.Sprintf("not settled: %s: %v", joinThree(names), e.Cause)
}

// Unwrap returns why the wait ended.
func (e *BusyError) Unwrap() error { return e.Cause }

// HasBeenQuiet reports whether there was no activity for observe.SettledQuiet before a snapshot: a program that writes, waits
// for a moment and writes again has no work at each check that finds it waiting.
func HasBeenQuiet(s observe.Snapshot) bool {
	return s.Time.Sub(s.Process.LastActivity) >= observe.SettledQuiet
}

// Wait returns when two checks in a row find no remaining work, and HasBeenQuiet. If ctx reaches its deadline first, the error is
// a [*BusyError], which also has the work of a moment ago if only its effects are awaited then. progress, if not nil, is called
// with the remaining work when other places are busy than before, at most twice a second, and the less often the longer the wait.
func Wait(ctx context.Context, src Source, horizon time.Duration, progress func([]Work)) error {
	timer := time.NewTimer(pollInterval)
	defer timer.Stop()
	var work, busy []Work // busy is the last that is more than effects
	var lastBusy time.Time
	began := time.Now()
	reported, lastReport := "", began
	for checks := 0; ; {
		s, err := src.Snapshot(ctx)
		switch {
		case ctx.Err() != nil:
			return waitError(ctx, work, busy, lastBusy)
		case err != nil:
			return err
		}
		work = RemainingWork(s, horizon)
		checks++
		timer.Reset(recheckInterval)
		if len(work) > 0 {
			checks = 0
			timer.Reset(pauseAfter(time.Since(began)))
		}
		if !onlyEffects(work) {
			busy, lastBusy = work, time.Now()
		}
		if checks >= requiredChecks && HasBeenQuiet(s) {
			return nil
		}
		if len(work) == 0 && !HasBeenQuiet(s) {
			work = RecentActivity(s)
		}
		if places := placesOf(work); progress != nil && places != reported && time.Since(lastReport) >= reportAfter(time.Since(began)) {
			reported, lastReport = places, time.Now()
			progress(work)
		}
		select {
		case <-ctx.Done():
			return waitError(ctx, work, busy, lastBusy)
		case <-timer.C:
		}
	}
}

// pauseAfter returns the time between two checks of a wait that has taken some time. A check takes some milliseconds of
// CPU here and in the control plane, which what is awaited needs: the longer a wait, the fewer they are.
func pauseAfter(waited time.Duration) time.Duration {
	return min(max(pollInterval, waited/20), maxPollInterval)
}

// reportAfter returns the time between two progress reports of a wait that has taken some time: what works changes many times
// in a second, and a wait of minutes would fill the log of CI.
func reportAfter(waited time.Duration) time.Duration {
	return min(max(progressInterval, waited/2), maxProgress)
}

// placesOf names the places with remaining work.
func placesOf(work []Work) string {
	var names []string
	for _, w := range work {
		names = append(names, w.Where)
	}
	return strings.Join(names, ", ")
}

// waitError returns why a wait has ended, with the remaining work; busy is the last that is more
// than effects.
func waitError(ctx context.Context, work, busy []Work, lastBusy time.Time) error {
	cause := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return cause
	}
	if onlyEffects(work) && time.Since(lastBusy) <= recentTime {
		work = joinWork(busy, work)
	}
	return NewBusyError(work, cause)
}
