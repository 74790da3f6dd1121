package learn

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// value is what a check has measured.
type value struct {
	text   string
	absent bool // there is no such object
}

func numberValue(n int64) value { return value{text: strconv.FormatInt(n, 10)} }

// hasExpectation says whether the check says what its measure has to be.
func (c *Check) hasExpectation() bool {
	return c.Is != nil || c.Not != nil || c.Matches != "" || c.AtLeast != nil || c.AtMost != nil || c.Gone
}

// holds says whether v is what it has to be. Text is not cut, but for blanks at
// its ends.
func (c *Check) holds(v value) bool {
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
	if c.Matches != "" && !regexp.MustCompile(c.Matches).MatchString(v.text) { // compiled when it was read, too
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

// equalValues compares as numbers where both are.
func equalValues(a, b string) bool {
	x, errA := strconv.ParseFloat(a, 64)
	y, errB := strconv.ParseFloat(b, 64)
	if errA == nil && errB == nil {
		return x == y
	}
	return a == b
}

// describeExpectation is the expectation in words.
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
		add("has to be gone")
	case c.Settled:
		add("has to settle")
	case len(words) == 0 && (c.Object != "" && c.Path == "" || c.Command != ""):
		add("has to be there")
	case len(words) == 0:
		add("must not be 0")
	}
	return strings.Join(words, " and ")
}

// String is the value for people, in one line.
func (v value) String() string {
	if v.absent {
		return "it is not there"
	}
	const most = 80
	text := []rune(strings.Join(strings.Fields(v.text), " "))
	if len(text) > most {
		text = append(text[:most], '…')
	}
	return fmt.Sprintf("it is %q", string(text))
}
