package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"
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
	}
	xmlCase struct {
		Name    string      `xml:"name,attr"`
		Class   string      `xml:"classname,attr"`
		Time    string      `xml:"time,attr"`
		Failure *xmlMessage `xml:"failure,omitempty"`
		Skipped *xmlMessage `xml:"skipped,omitempty"`
	}
	xmlMessage struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes one test suite for the command, one for the manifests, and one
// per namespace.
func writeJUnit(w io.Writer, o *Outcome, objects []testCase) error {
	command := testCase{suite: "command", name: o.commandLine(), seconds: o.Took.Seconds()}
	if o.hasFailed() {
		command.failure = o.resultWithReason()
	}
	all := xmlSuites{Name: "ctrlplane run", Time: formatSeconds(o.Took.Seconds())}
	for _, c := range append([]testCase{command}, objects...) {
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != c.suite {
			all.Suites = append(all.Suites, xmlSuite{Name: c.suite, Time: "0.000", Timestamp: o.Began.UTC().Format(time.RFC3339)})
		}
		suite := &all.Suites[len(all.Suites)-1]
		suite.addCase(c)
		all.Tests++
		if c.failure != "" {
			all.Failures++
		}
	}
	all.Suites[0].Time = all.Time
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
	one := xmlCase{Name: c.name, Class: "ctrlplane." + c.suite, Time: formatSeconds(c.seconds)}
	s.Tests++
	switch {
	case c.failure != "":
		s.Failures++
		one.Failure = &xmlMessage{"NotHealthy", c.failure, c.failure}
		if c.suite == "command" {
			one.Failure.Type = "Command"
		}
	case c.skipped != "":
		s.Skipped++
		one.Skipped = &xmlMessage{Message: c.skipped}
	}
	s.Cases = append(s.Cases, one)
}

// formatSeconds avoids the exponent notation, which the schema does not allow.
func formatSeconds(s float64) string { return fmt.Sprintf("%.3f", s) }
