package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui/explain"
	"github.com/ctrlplane/ctrlplane/ui/report"
)

// runAssertions are what a run asserts about the control plane at its end.
type runAssertions struct {
	healthy                bool
	conflicts, failedSyncs []string // as given
	rules                  assert.Rules
}

func (a *runAssertions) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&a.healthy, "healthy", false, "fail if an object is not healthy at the end, as in junit.xml; usually with --settle")
	f.StringArrayVar(&a.conflicts, "max-conflicts", nil, "fail if more writes met a conflict: N for all controllers together, or NAME=N for a controller or client (repeatable)")
	f.StringArrayVar(&a.failedSyncs, "max-failed-syncs", nil, "fail if more syncs failed: N for all controllers together, or NAME=N for a controller (repeatable)")
	f.BoolVar(&a.rules.NoHotLoop, "no-hot-loop", false, "fail if a key is synced, or an object written, again and again as an effect of itself")
}

// validate reads the values of the flags.
func (a *runAssertions) validate(records int) error {
	for _, set := range []struct {
		flag   string
		values []string
		limits *[]assert.Limit
	}{{assert.MaxConflicts, a.conflicts, &a.rules.Conflicts}, {assert.MaxFailedSyncs, a.failedSyncs, &a.rules.FailedSyncs}} {
		*set.limits = nil
		for _, text := range set.values {
			limit, err := assert.ParseLimit(text)
			if err != nil {
				return usage.Errorf("%s: %v", set.flag, err)
			}
			*set.limits = append(*set.limits, limit)
		}
	}
	if !a.rules.Empty() && records < 0 {
		return usage.Errorf("assertions about controllers need observation, which --observe-records %d turns off: use one of them", records)
	}
	return nil
}

// hotLoopWatch is how long --no-hot-loop watches a control plane that does not settle.
const hotLoopWatch = 3 * time.Second

// hotLoopError is why a run does not wait until the control plane has settled.
type hotLoopError struct{ busy *settled.BusyError }

func (e *hotLoopError) Error() string {
	return "not settled: a hot loop was found, which does not settle"
}

func (e *hotLoopError) Unwrap() error { return e.busy }

// watchForLoops waits until the control plane has settled, or long enough for a loop to
// show. The error is a *hotLoopError if there is one that has not ended.
func watchForLoops(ctx context.Context, src observe.Source) error {
	watch, cancel := context.WithTimeout(ctx, hotLoopWatch)
	defer cancel()
	err := settled.Wait(watch, src, settleHorizon, nil)
	if busy, ok := errors.AsType[*settled.BusyError](err); ok {
		return findLoop(ctx, src, busy)
	}
	return err
}

// findLoop returns a *hotLoopError if a busy control plane has a loop that has not ended.
func findLoop(ctx context.Context, src observe.Source, busy *settled.BusyError) error {
	loops, err := assert.FindLoops(context.WithoutCancel(ctx), src, time.Now())
	if err != nil || len(loops) == 0 {
		return err
	}
	return &hotLoopError{busy}
}

// check checks the assertions about controllers.
func (a *runAssertions) check(ctx context.Context, src observe.Source) ([]assert.Result, error) {
	now, err := src.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	page, err := src.Records(ctx, observe.Query{})
	if err != nil {
		return nil, err
	}
	rules := a.rules
	rules.FullName = explain.ExpandShortName
	return assert.Check(rules, now, page.Records), nil
}

// healthFailure returns why --healthy does not hold; empty if it does.
func healthFailure(s *report.State, settled bool) string {
	bad, of := s.NotHealthy()
	switch {
	case len(bad) > 0 && !settled:
		return fmt.Sprintf("%s: add --settle if controllers were not done yet", notHealthy(len(bad), of))
	case len(bad) > 0:
		return notHealthy(len(bad), of)
	case s.Incomplete() != nil:
		return s.Incomplete().Error()
	}
	return ""
}

func notHealthy(n, of int) string {
	verb := "are"
	if n == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%d of %s %s not healthy", n, words.Count(of, "object"), verb)
}

// needsState reports whether the objects are read at the end of a run.
func (r *runCommand) needsState() bool {
	return r.report.report != nil || r.settle || r.assertions.healthy
}

// judgesObjects reports whether an object that is not healthy at the end is named, and fails its test case. Suites for envtest
// leave such objects behind, so with --bare a flag has to ask for it.
func (r *runCommand) judgesObjects() bool { return !r.up.bare || r.settle || r.assertions.healthy }

// hasVerdict reports whether ctrlplane judges the run, rather than the command alone.
func (r *runCommand) hasVerdict() bool { return r.needsState() || !r.assertions.rules.Empty() }

// collectLimit returns how long reading the objects at the end may take. CI services kill a canceled job soon.
func (r *runCommand) collectLimit() time.Duration {
	switch {
	case r.hurried.Load():
		return collectTimeout / 40
	case r.interrupted != nil:
		return collectTimeout / 10
	}
	return collectTimeout
}

// judge reads the state at the end of a run and checks what is asserted about it. An
// assertion that does not hold gives an exit code only to a run that succeeded.
func (r *runCommand) judge(parent context.Context, code int, err error) (int, error) {
	if !r.hasVerdict() || r.report.isNotRun() {
		return code, err
	}
	r.report.beginStage("report")
	r.report.setSimulated(r.up.server.NotRun())
	limit := r.collectLimit()
	ctx, cancel := context.WithTimeoutCause(parent, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	var failures []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		failures = slices.Concat(r.judgeObjects(ctx), r.judgeControllers(ctx))
	}()
	select {
	case <-done:
	case <-ctx.Done():
	case <-r.up.server.Done():
	}
	cancel()
	<-done
	if sig := interruptionOf(parent); sig != nil && code == 0 && err == nil {
		r.report.setInterrupted(signalName(sig))
		return signalExitCode(sig), errors.New("not judged: interrupted")
	}
	if len(failures) == 0 {
		return code, err
	}
	failure := errors.New(strings.Join(failures, "; "))
	if code == 0 && err == nil {
		return exitAssertion, failure
	}
	writeError(r.output, failure) // the exit code is that of the command
	return code, err
}

// judgeObjects reads the objects, for the report as well, and returns why an assertion
// about them does not hold.
func (r *runCommand) judgeObjects(ctx context.Context) []string {
	if !r.needsState() {
		return nil
	}
	if r.report.report != nil {
		r.report.report.RecordEnd(ctx)
	}
	var src observe.Source
	if o := r.up.server.Observer(); o != nil {
		src = o
	}
	state := report.ReadState(ctx, r.up.server.RESTConfig(), r.applied, src)
	deleted := r.deletions.End(ctx)
	state.SetDeleted(deleted)
	r.report.setDeleted(deleted)
	if !r.judgesObjects() {
		state.SkipUnhealthy(false)
	}
	if r.report.report != nil {
		r.report.report.SetState(ctx, state)
	}
	if interruptionOf(ctx) != nil || !r.judgesObjects() {
		return nil
	}
	r.report.setState(state)
	if !r.settle && !r.assertions.healthy {
		return nil
	}
	bad, _ := state.NotHealthy()
	for _, object := range bad {
		fmt.Fprintf(r.output, "ctrlplane: not healthy: %s\n", object.Line())
		for _, line := range object.LogLines(r.report.moreLines()) {
			fmt.Fprintf(r.output, "  %s\n", line)
		}
	}
	if r.interrupted != nil { // what the run has not done yet does not count
		return nil
	}
	doubts := printDoubts(ctx, r.output, state, src)
	if !r.assertions.healthy {
		return nil
	}
	failure := healthFailure(state, r.settle)
	result := assert.Result{Rule: assert.Healthy, Failure: failure}
	if failure == "" {
		result.Warnings = doubts
	}
	r.report.addAssertions(result)
	if failure == "" {
		return nil
	}
	return []string{assert.Healthy + ": " + failure}
}

// readAfterRefusal reads the objects for the report when the API server has refused some of the manifests.
func (r *runCommand) readAfterRefusal(parent context.Context) {
	if r.report.report == nil {
		return
	}
	r.report.beginStage("report")
	ctx, cancel := context.WithTimeoutCause(parent, collectTimeout, fmt.Errorf("no answer within %v", collectTimeout))
	defer cancel()
	r.report.report.RecordEnd(ctx)
	var src observe.Source
	if o := r.up.server.Observer(); o != nil {
		src = o
	}
	state := report.ReadState(ctx, r.up.server.ReaderConfig(), r.applied, src)
	state.SkipUnhealthy(true)
	r.report.report.SetState(ctx, state)
}

// skipUnchecked records that what is asserted was not checked, unless it was.
func (r *runCommand) skipUnchecked() {
	rules := r.assertions.rules.Names()
	if r.assertions.healthy {
		rules = slices.Insert(rules, 0, assert.Healthy)
	}
	if r.settle {
		rules = slices.Insert(rules, 0, assert.Settle)
	}
	r.report.skipUnchecked(rules)
}

// maxDoubts is of how many objects it is said why it is doubtful that they are healthy.
const maxDoubts = 10

// printDoubts prints and returns what makes it doubtful that objects are healthy which count as healthy.
func printDoubts(ctx context.Context, out io.Writer, state *report.State, src observe.Source) []string {
	if src == nil {
		return nil
	}
	now, err := src.Snapshot(ctx)
	if err != nil {
		return nil // the control plane has ended, which is said
	}
	doubts := state.Doubts(now)
	if more := len(doubts) - maxDoubts; more > 0 {
		doubts = append(doubts[:maxDoubts], words.Count(more, "more line"))
	}
	for _, line := range doubts {
		fmt.Fprintf(out, "ctrlplane: %s\n", words.OneLine(line))
	}
	return doubts
}

// judgeControllers returns why assertions about controllers do not hold, and prints the
// evidence.
func (r *runCommand) judgeControllers(ctx context.Context) (failures []string) {
	if r.assertions.rules.Empty() || r.interrupted != nil {
		return nil
	}
	results, err := r.assertions.check(ctx, r.up.server.Observer())
	if interruptionOf(ctx) != nil {
		return nil
	}
	if err != nil {
		return []string{"cannot check the assertions: " + err.Error()}
	}
	r.report.addAssertions(results...)
	for _, result := range results {
		if result.Failure == "" {
			continue
		}
		failures = append(failures, result.Rule+": "+result.Failure)
		if len(result.Evidence) > 0 {
			fmt.Fprintf(r.output, "ctrlplane: evidence for %s:\n", words.OneLine(result.Rule))
		}
		for _, line := range result.Evidence {
			fmt.Fprintf(r.output, "  %s\n", words.OneLine(line))
		}
	}
	return failures
}

// loadApplied reads the manifests that the control plane starts with: their objects are
// judged at the end.
func (r *runCommand) loadApplied(ctx context.Context) (err error) {
	if err := r.up.readInputs(ctx); err != nil {
		return err
	}
	if r.report.dir != "" || r.settle || r.assertions.healthy {
		s := &r.up.server
		r.applied, err = manifests.LoadAll(ctx, s.Manifests, s.ManifestTexts)
		r.report.addWarnings(manifests.Duplicates(r.applied))
	}
	return err
}
