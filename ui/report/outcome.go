package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui"
)

// AssertionCode is the exit code of a run whose command succeeded and of which an
// assertion does not hold.
const AssertionCode = 123

// The stages that the test cases in junit.xml have the time of.
const (
	StageCommand  = "command"
	StageSettling = "settling"
)

// Outcome is the result of a run.
type Outcome struct {
	Command []string
	Code    int   // exit code
	Err     error // reported by ctrlplane, such as a timeout; nil if only the command failed
	Began   time.Time
	Took    time.Duration
	Stages  []Stage // stages after the start, such as StageCommand
	// Interrupted is the name of the signal that ctrlplane has received and that has ended the run early; empty if none has.
	Interrupted string
	// Assertions are the results of what was asserted about the objects and the controllers.
	Assertions []assert.Result
	// NotRun is what has failed before the command, which was not run then; empty if it was.
	NotRun string
	// Warnings are about the run itself, one line each.
	Warnings []string
	// Simulated says in one line which programs and probes of Pods were not run; empty if all were, or if there were no Pods.
	Simulated string
	// SimulatedObjects says the same of each object, with all programs; empty if Simulated names them all.
	SimulatedObjects []string
	// Kubernetes is the version if the run is one of several with different ones, otherwise empty.
	Kubernetes string
}

// What may fail before the command.
const (
	StartManifests    = "manifests"
	StartControlPlane = "control plane"
)

// Line says in one line how the run ended.
func (o *Outcome) Line() string {
	if o.hasFailed() {
		return fmt.Sprintf("%s after %s", o.resultText(), words.Duration(o.Took))
	}
	return fmt.Sprintf("passed in %s", words.Duration(o.Took))
}

func (o *Outcome) hasFailed() bool { return o.Code != 0 || o.Err != nil }

// commandFailed reports whether the run has failed otherwise than by an assertion, or because
// the control plane has not settled after the command.
func (o *Outcome) commandFailed() bool {
	unsettled := func(r assert.Result) bool { return r.Rule == assert.Settle && r.Failure != "" }
	return o.hasFailed() && !(o.Code == AssertionCode && o.Err != nil && o.Interrupted == "") && !slices.ContainsFunc(o.Assertions, unsettled)
}

// secondsOf returns how long a stage took; 0 if the run did not reach it.
func (o *Outcome) secondsOf(stage string) (seconds float64) {
	for _, s := range o.Stages {
		if s.Name == stage {
			seconds += s.Took.Seconds()
		}
	}
	return seconds
}

// warnings says what does not work, one line each, though all assertions may hold.
func (o *Outcome) warnings() (lines []string) {
	lines = slices.Clone(o.Warnings)
	for _, a := range o.Assertions {
		lines = append(lines, a.Warnings...)
	}
	return lines
}

// ExitSignal returns the signal that an exit code stands for; 0 if none.
func ExitSignal(code int) int {
	if n := code - 128; 0 < n && n < 32 {
		return n
	}
	return 0
}

// resultText summarizes the outcome in a few words.
func (o *Outcome) resultText() string {
	switch {
	case !o.hasFailed():
		return "passed"
	case o.Interrupted != "":
		return "interrupted by " + o.Interrupted
	case o.Code == 124 && o.Err != nil:
		return "timed out"
	case o.Code == AssertionCode && o.Err != nil:
		return "failed an assertion"
	}
	return fmt.Sprintf("failed with exit code %d", o.Code)
}

// reasonLine returns Err in one line; empty if there is none.
func (o *Outcome) reasonLine() string {
	if o.Err == nil {
		return ""
	}
	return words.OneLine(o.Err.Error())
}

// reasonLines returns Err in one line, or several for several errors of manifests, as stderr has them: those that are too many
// are counted.
func (o *Outcome) reasonLines() []string { return o.linesOfErr(manifests.ErrorLines) }

// allReasonLines is reasonLines with each error.
func (o *Outcome) allReasonLines() []string { return o.linesOfErr(manifests.AllErrorLines) }

func (o *Outcome) linesOfErr(split func(error) []string) (lines []string) {
	if o.Err == nil {
		return nil
	}
	for _, line := range split(o.Err) {
		lines = append(lines, words.OneLine(line))
	}
	return lines
}

// resultWithReason returns the verdict with the reason, if there is one.
func (o *Outcome) resultWithReason() string {
	if reason := o.reasonLine(); reason != "" {
		return o.resultText() + ": " + reason
	}
	return o.resultText()
}

// commandNote returns the command, and says so if it was not run.
func (o *Outcome) commandNote() string {
	if o.NotRun != "" {
		return "not run: " + o.commandLine()
	}
	return o.commandLine()
}

// commandLine returns the command with shell quoting.
func (o *Outcome) commandLine() string {
	quoted := make([]string, len(o.Command))
	for i, w := range o.Command {
		quoted[i] = ui.QuotePOSIX(w)
	}
	return strings.Join(quoted, " ")
}
