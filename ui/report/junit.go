package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/health/assert"
)

// The elements of junit.xml, according to the schema of Jenkins' xunit plugin
// (junit-10.xsd), which other CI services read as well.
type (
	xmlSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Time     string     `xml:"time,attr"` // seconds
		Suites   []xmlSuite `xml:"testsuite"`
	}
	xmlSuite struct {
		Name      string    `xml:"name,attr"`
		Tests     int       `xml:"tests,attr"`
		Failures  int       `xml:"failures,attr"`
		Errors    int       `xml:"errors,attr"`
		Skipped   int       `xml:"skipped,attr"`
		Time      string    `xml:"time,attr"`
		Timestamp string    `xml:"timestamp,attr"`
		Cases     []xmlCase `xml:"testcase"`
		seconds   float64
	}
	xmlCase struct {
		Name    string      `xml:"name,attr"`
		Class   string      `xml:"classname,attr"`
		Time    string      `xml:"time,attr"`
		Failure *xmlMessage `xml:"failure,omitempty"`
		Skipped *xmlMessage `xml:"skipped,omitempty"`
		Stdout  string      `xml:"system-out,omitempty"`
		Stderr  string      `xml:"system-err,omitempty"`
	}
	xmlMessage struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes one test suite for the command, one for what has failed before it, one for the assertions, one for the
// manifests, one for other cluster-scoped objects, and one per namespace. output is the end of
// what the command printed.
func writeJUnit(w io.Writer, o *Outcome, output excerpt, objects []testCase) error {
	command := testCase{suite: commandSuite, name: o.commandLine(), seconds: o.secondsOf(StageCommand)}
	before := []testCase{command}
	switch {
	case o.NotRun != "":
		before[0].seconds, before[0].skipped = 0, "not run: the test case "+o.NotRun+" has failed"
		start := testCase{suite: startSuite, name: o.NotRun, seconds: o.Took.Seconds(), failure: o.resultWithReason()}
		if lines := o.allReasonLines(); len(lines) > 1 {
			start.failure = o.resultText() + ": " + lines[0] + "; the other errors follow"
			start.details = strings.Join(lines[1:], "\n")
		}
		before = append(before, start)
	case o.commandFailed(): // assertions have test cases of their own
		before[0].failure = o.resultWithReason()
		before[0].details = strings.Join(output.text(seeOutput), "\n")
	}
	run := slices.Concat(before, o.assertionCases())
	o.addSimulated(run)
	all := xmlSuites{Name: "ctrlplane run", Time: formatSeconds(o.Took.Seconds())}
	for _, c := range slices.Concat(run, objects) {
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != c.suite {
			all.Suites = append(all.Suites, xmlSuite{Name: c.suite, Timestamp: o.Began.UTC().Format(time.RFC3339)})
		}
		suite := &all.Suites[len(all.Suites)-1]
		suite.addCase(c)
		all.Tests++
		if c.failure != "" {
			all.Failures++
		}
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	out := xml.NewEncoder(w)
	out.Indent("", "  ")
	if err := out.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *xmlSuite) addCase(c testCase) {
	one := xmlCase{Name: c.name, Class: "ctrlplane." + c.suite, Time: formatSeconds(c.seconds), Stdout: c.simulated, Stderr: strings.Join(c.warnings, "\n")}
	s.Tests++
	s.seconds += c.seconds
	s.Time = formatSeconds(s.seconds)
	switch {
	case c.failure != "":
		s.Failures++
		one.Failure = &xmlMessage{"NotHealthy", c.failure, c.failure}
		switch c.suite {
		case commandSuite:
			one.Failure.Type = "Command"
		case assertionSuite:
			one.Failure.Type = "Assertion"
		case startSuite:
			one.Failure.Type = "Start"
		}
		if c.details != "" {
			one.Failure.Text += "\n" + c.details
		}
		for _, line := range logText(c.logs, seePage) {
			one.Failure.Text += "\n" + line
		}
	case c.skipped != "":
		s.Skipped++
		one.Skipped = &xmlMessage{Message: c.skipped}
	}
	s.Cases = append(s.Cases, one)
}

// The suites, besides one per namespace.
const (
	clusterSuite   = "cluster"
	commandSuite   = "command"
	assertionSuite = "assertions"
	startSuite     = "start" // what has failed before the command
	manifestSuite  = "manifests"
)

// assertionCases returns a test case for each assertion.
func (o *Outcome) assertionCases() []testCase {
	var cases []testCase
	for _, r := range o.Assertions {
		c := testCase{suite: assertionSuite, name: r.Rule, failure: r.Failure, details: strings.Join(r.Evidence, "\n"), warnings: r.Warnings, skipped: r.Skipped}
		if r.Rule == assert.Settle {
			c.seconds = o.secondsOf(StageSettling)
		}
		cases = append(cases, c)
	}
	return cases
}

// addSimulated says in the test case of the strongest claim about the objects what was not run: that of --healthy, of
// --settle, or else of the command.
func (o *Outcome) addSimulated(cases []testCase) {
	for _, rule := range []string{assert.Healthy, assert.Settle} {
		is := func(c testCase) bool { return c.suite == assertionSuite && c.name == rule && c.skipped == "" }
		if i := slices.IndexFunc(cases, is); i >= 0 {
			cases[i].simulated = o.Simulated
			return
		}
	}
	cases[0].simulated = o.Simulated
}

// formatSeconds avoids the exponent notation, which the schema does not allow.
func formatSeconds(s float64) string { return fmt.Sprintf("%.3f", s) }
