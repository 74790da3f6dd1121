package learn

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// value is the result of a measure.
type value struct {
	text       string
	absent     bool   // the object does not exist
	busy       string // what keeps the control plane from settling; empty if it is settled
	noKind     string // the kind of the check, if the server does not have it
	unanswered bool   // it was not measured
}

func numberValue(n int64) value { return value{text: strconv.FormatInt(n, 10)} }

// hasExpectation reports whether the check expects a particular value.
func (c *Check) hasExpectation() bool {
	return c.Is != nil || c.Not != nil || c.Matches != "" || c.AtLeast != nil || c.AtMost != nil || c.Gone
}

// isMetBy reports whether v is as expected, ignoring spaces at both ends.
func (c *Check) isMetBy(v value) bool {
	text := strings.TrimSpace(v.text)
	if c.Gone {
		return v.absent || c.Count != "" && text == "0"
	}
	if v.absent {
		return false
	}
	if c.Is != nil && !equalValues(text, *c.Is) || c.Not != nil && equalValues(text, *c.Not) {
		return false
	}
	if c.Matches != "" && !regexp.MustCompile(c.Matches).MatchString(v.text) { // was compiled by validate
		return false
	}
	if c.AtLeast != nil || c.AtMost != nil {
		n, err := strconv.ParseFloat(text, 64)
		return err == nil && (c.AtLeast == nil || n >= *c.AtLeast) && (c.AtMost == nil || n <= *c.AtMost)
	}
	if c.hasExpectation() || c.Object != "" && c.Path == "" || c.Command != "" {
		return true
	}
	return text != "" && text != "0" && text != "false"
}

// equalValues compares numbers if both texts are numbers.
func equalValues(a, b string) bool {
	x, errA := strconv.ParseFloat(a, 64)
	y, errB := strconv.ParseFloat(b, 64)
	if errA == nil && errB == nil {
		return x == y
	}
	return a == b
}

func (c *Check) describeExpectation() string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	if c.Is != nil {
		add("has to be %q", *c.Is)
	}
	if c.Not != nil {
		add("must not be %q", *c.Not)
	}
	if c.Matches != "" {
		add("has to match %q", c.Matches)
	}
	if c.AtLeast != nil {
		add("has to be at least %v", *c.AtLeast)
	}
	if c.AtMost != nil {
		add("has to be at most %v", *c.AtMost)
	}
	switch {
	case c.Gone:
		add("must not exist")
	case c.Settled:
		add("has to settle")
	case len(words) == 0 && (c.Object != "" && c.Path == "" || c.Command != ""):
		add("has to exist")
	case len(words) == 0:
		add("must not be 0")
	}
	return strings.Join(words, " and ")
}

// missingKind says that the server does not have the kind of the check. Its definition may come.
func (v value) missingKind() string {
	return fmt.Sprintf("the server has no resource %q", v.noKind)
}

// String describes the value in one line.
func (v value) String() string {
	if v.unanswered {
		return "there was no answer in time"
	}
	if v.absent {
		return "it does not exist"
	}
	if v.busy != "" {
		return "it is busy: " + v.busy
	}
	const most = 80
	text := []rune(strings.Join(strings.Fields(v.text), " "))
	if len(text) > most {
		text = append(text[:most], '…')
	}
	return fmt.Sprintf("it is %q", string(text))
}
