package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui/report"
)

// collectTimeout limits how long reading the objects at the end may take.
const collectTimeout = 20 * time.Second

// runReport writes the report of a run; without --report its methods do nothing.
type runReport struct {
	dir       string
	flagGiven func() bool    // whether --report was
	report    *report.Report // nil without --report
	jobLog    string         // file for what is for the job's log of a CI service; empty = output
	output    io.Writer

	mu      sync.Mutex     // guards what follows: a second signal writes the report from another goroutine
	outcome report.Outcome // so far
	stage   report.Stage   // the current one
	written bool

	complete atomic.Bool   // the report was written without an error
	ended    bool          // endLine has returned it
	state    *report.State // at the end, if objects are judged
	deleted  report.Deleted
}

func (r *runReport) validate(records int) error {
	if r.flagGiven() && r.dir == "" {
		return usage.Errorf("--report: missing folder: name one, or leave the flag out")
	}
	if r.dir != "" && records < 0 {
		return usage.Errorf("--report needs observation, which --observe-records %d turns off: use one of them", records)
	}
	return nil
}

// open begins the report. An ephemeral control plane then logs to the report's
// folder, because its data folder is removed.
func (r *runReport) open(u *upCommand, args []string) error {
	r.outcome = report.Outcome{Command: args, Began: time.Now()}
	if r.jobLog != "" {
		r.outcome.Kubernetes = u.server.Kubernetes
	}
	if r.dir == "" {
		return nil
	}
	opened, err := report.Open(r.dir)
	if err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	log := &u.server.Log.Path
	switch {
	case *log == "" && u.ephemeral:
		*log = opened.FallbackLogPath()
		opened.SetLog(*log)
	case *log == "":
		opened.SetLog(filepath.Join(u.server.Dir, ctrlplane.LogFile))
	default:
		opened.SetLog(*log)
	}
	r.report = opened
	return nil
}

// startRecording begins to record what is observed, once there is an observer.
func (r *runReport) startRecording(s *ctrlplane.Server) {
	if r.report == nil || s.Observer() == nil {
		return
	}
	if err := r.report.Follow(s.Observer(), servedResources(s)); err != nil {
		printWarning("--report: " + err.Error())
	}
}

// logPath is where the log of the control plane is after the run.
func (r *runReport) logPath(s *ctrlplane.Server) string {
	if r.report != nil {
		return r.report.Path(report.LogFile)
	}
	return s.LogPath()
}

// beginStage records that the run has reached another stage; empty means its end.
func (r *runReport) beginStage(stage string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nextStage(stage)
}

func (r *runReport) nextStage(stage string) {
	now := time.Now()
	if r.stage.Name != "" {
		r.stage.Took = now.Sub(r.stage.At)
		r.outcome.Stages = append(r.outcome.Stages, r.stage)
	}
	r.stage = report.Stage{Name: stage, At: now}
}

func (r *runReport) outcomeOf(code int, err error) report.Outcome {
	o := r.outcome
	o.Code, o.Err, o.Took = code, err, time.Since(o.Began)
	return o
}

// write completes the report, unless that was done before. If it cannot be written, a
// run that was successful fails; the exit code of a failed command does not change.
func (r *runReport) write(code int, err error) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.report == nil || r.written {
		return code, err
	}
	r.written = true
	r.nextStage("")
	o := r.outcomeOf(code, err)
	ciErr, writeErr := r.writeFiles(o)
	if ciErr != nil { // of a copy of what the report has
		writeWarning(r.output, "the summary of the job is incomplete: "+ciErr.Error())
	}
	if writeErr != nil {
		writeError(r.output, writeErr)
		if code == 0 {
			code = exitFailure
		}
		return code, err
	}
	r.complete.Store(true)
	return code, err
}

// unfinished says what is left to be done once the report is being written, or was.
func (r *runReport) unfinished() string {
	if r.report == nil || r.complete.Load() {
		return "everything had stopped"
	}
	return "the report was complete"
}

func (r *runReport) writeFiles(o report.Outcome) (ciErr, err error) {
	if r.jobLog == "" {
		return r.report.Write(o, r.output, os.Getenv)
	}
	var log bytes.Buffer
	ciErr, err = r.report.Write(o, &log, os.Getenv)
	return errors.Join(ciErr, os.WriteFile(r.jobLog, log.Bytes(), 0o600)), err
}

// addAssertions and setState record what was judged at the end.
func (r *runReport) addAssertions(results ...assert.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcome.Assertions = append(r.outcome.Assertions, results...)
}

// skipUnchecked records of each rule without a result why it has none.
func (r *runReport) skipUnchecked(rules []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	why := "the run had failed before"
	switch {
	case r.outcome.NotRun != "":
		why = "the command was not run"
	case r.outcome.Interrupted != "":
		why = "the run was interrupted"
	}
	for _, rule := range rules {
		if !slices.ContainsFunc(r.outcome.Assertions, func(a assert.Result) bool { return a.Rule == rule }) {
			r.outcome.Assertions = append(r.outcome.Assertions, assert.Result{Rule: rule, Skipped: why})
		}
	}
}

func (r *runReport) isNotRun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcome.NotRun != ""
}

func (r *runReport) setInterrupted(signal string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcome.Interrupted = signal
}

// addWarnings records warnings about the run.
func (r *runReport) addWarnings(lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcome.Warnings = append(r.outcome.Warnings, lines...)
}

// setNotRun records that the command was not run because something else has failed.
func (r *runReport) setNotRun(failed string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcome.NotRun = failed
}

// setSimulated records what the Pods of the run have not run.
func (r *runReport) setSimulated(list []ctrlplane.NotRunPrograms, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcome.Simulated, r.outcome.SimulatedObjects = simulatedLine(list, more), simulatedObjects(list)
}

func (r *runReport) setState(s *report.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = s
}

func (r *runReport) setDeleted(d report.Deleted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deleted = d
}

// moreLines says where lines of logs are that stderr leaves out.
func (r *runReport) moreLines() string {
	if r.report == nil {
		return "--report keeps more"
	}
	return "see " + report.PageFile
}

// printDeleted prints what clients have deleted while it was not healthy. It may be why a run has failed.
func (r *runReport) printDeleted(w io.Writer) {
	all := "--report lists them"
	if r.report != nil {
		all = "see the report"
	}
	r.deleted.WriteLines(w, all, r.moreLines())
}

// healthAsserted reports whether there is an assertion about objects.
func healthAsserted(results []assert.Result) bool {
	return slices.ContainsFunc(results, func(r assert.Result) bool { return r.Rule == assert.Healthy && r.Skipped == "" })
}

func assertionFailed(results []assert.Result) bool {
	return slices.ContainsFunc(results, func(r assert.Result) bool { return r.Failure != "" })
}

// assertionsHeld counts the assertions of a run that has passed; 0 if other facts tell of all of them.
func assertionsHeld(results []assert.Result) int {
	held := slices.DeleteFunc(slices.Clone(results), func(r assert.Result) bool { return r.Rule == assert.Settle })
	if len(held) == 1 && healthAsserted(held) {
		return 0
	}
	return len(held)
}

// endLine says how the run ended, in one line after that of what was not run, the first time.
func (r *runReport) endLine(code int, err error, settle bool) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return ""
	}
	r.ended = true
	o := r.outcomeOf(code, err)
	line := o.Line()
	passed := code == 0 && err == nil
	var facts []string
	if o.NotRun != "" {
		facts = append(facts, "the command was not run")
	}
	if passed && settle {
		facts = append(facts, "settled")
	}
	if r.state != nil {
		bad, of := r.state.NotHealthy()
		switch {
		case len(bad) > 0 && healthAsserted(o.Assertions): // the failed assertion says it
		case len(bad) > 0:
			facts = append(facts, notHealthy(len(bad), of))
		case !settle && !healthAsserted(o.Assertions): // the run does not ask for it
		case r.state.Incomplete() != nil, o.Interrupted != "":
		case of == 0: // "0 objects healthy" would read as if none were healthy
			facts = append(facts, "no objects are left to judge")
		default:
			facts = append(facts, words.Count(of, "object")+" healthy")
		}
	}
	if n := assertionsHeld(o.Assertions); n > 0 && passed {
		facts = append(facts, words.Count(n, "assertion")+" held")
	}
	if len(facts) > 0 {
		line += ": " + strings.Join(facts, ", ")
	}
	if n := r.deleted.Count(); n > 0 && !passed && !assertionFailed(o.Assertions) { // that would be why the run has failed
		line += fmt.Sprintf(" (deleted while not healthy: %s)", words.Count(n, "object"))
	}
	switch {
	case r.complete.Load():
		line += "; the report is " + r.report.Path(report.PageFile)
	case r.report != nil && !r.written:
		line += "; the report is being written: " + r.report.Path(report.PageFile)
	}
	if o.Simulated != "" {
		return "ctrlplane: " + words.OneLine(o.Simulated) + "\nctrlplane: " + words.OneLine(line) + "\n"
	}
	return "ctrlplane: " + words.OneLine(line) + "\n"
}
