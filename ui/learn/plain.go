package learn

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// plain says in words what is missing: the path of a field and the names of measures are
// for authors of lessons.
func (m *unmetCheck) plain(substitute func(string) string) string {
	text := m.plainState()
	switch {
	case m.isExplained():
		return substitute(m.check.Missing)
	case m.check.Say == "":
		return substitute(text)
	}
	return substitute("“" + strings.TrimRight(m.check.Say, ".") + "”: " + text)
}

// isExplained reports whether the lesson has a text for what is missing.
func (m *unmetCheck) isExplained() bool {
	return m.check.Missing != "" && m.value.noKind == "" && !m.value.unanswered
}

func (m *unmetCheck) plainState() string {
	c := m.check
	switch {
	case m.value.noKind != "":
		return m.value.missingKind() + "."
	case m.value.unanswered:
		return m.value.String() + "."
	case c.Object != "" && c.Gone:
		return c.Object + " still exists."
	case c.Object != "" && m.value.absent:
		return c.Object + " does not exist."
	case c.Object != "":
		return fmt.Sprintf("%s of %s: %s%s.", plainField(c.Path), c.Object, m.plainValue(), c.plainWish())
	case c.Count != "":
		return fmt.Sprintf("number of %[2]s%[3]s: %[1]s%[4]s.", m.value.text, c.Count, plainSelectors(c), c.plainWish())
	case c.Records != nil:
		return fmt.Sprintf("%s so far%s.", plainTimes(m.value.text), c.plainWish())
	case c.Queue != "" && m.value.absent:
		return fmt.Sprintf("queue %s does not exist.", c.Queue)
	case c.Queue != "":
		return fmt.Sprintf("number of %[2]s of queue %[3]s: %[1]s%[4]s.", m.value.text, map[string]string{
			"depth": "waiting keys", "inFlight": "keys in work", "adds": "added keys", "done": "syncs", "retries": "retries",
		}[c.Of], c.Queue, c.plainWish())
	case c.Controller != "":
		return fmt.Sprintf("%s is %s%s.", c.Controller, m.plainValue(), c.plainWish())
	case c.Held != "":
		return fmt.Sprintf("writes that %s holds: %s%s.", c.Held, m.value.text, c.plainWish())
	case c.Settled:
		return fmt.Sprintf("the control plane has not settled yet: %s.", m.value.busy)
	case m.value.absent:
		return fmt.Sprintf("the command %q fails.", c.Command)
	}
	return fmt.Sprintf("the command %q prints %s%s.", c.Command, strings.Replace(m.plainValue(), "not set", "nothing", 1), c.plainWish())
}

// plainValue quotes the value in one line.
func (m *unmetCheck) plainValue() string {
	switch text := strings.TrimPrefix(m.value.String(), "it is "); {
	case m.value.absent:
		return "not there"
	case text == `""`:
		return "not set"
	default:
		if _, err := strconv.ParseFloat(m.value.text, 64); err == nil {
			return m.value.text
		}
		return text
	}
}

// plainWish says what is expected; empty if that is just any value.
func (c *Check) plainWish() string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	if c.Is != nil {
		add("%s", *c.Is)
	}
	if c.Not != nil && *c.Not != "" {
		add("another value")
	}
	if c.AtLeast != nil {
		add("at least %v", *c.AtLeast)
	}
	if c.AtMost != nil {
		add("at most %v", *c.AtMost)
	}
	if c.Gone {
		add("none")
	}
	if len(words) == 0 {
		return ""
	}
	return ", needed: " + strings.Join(words, " and ")
}

func plainTimes(count string) string {
	switch count {
	case "0":
		return "it has not happened"
	case "1":
		return "it has happened once"
	}
	return "it has happened " + count + " times"
}

func plainSelectors(c *Check) string {
	if c.Where == "" && c.Fields == "" {
		return ""
	}
	return " with " + strings.Join(nonEmpty(c.Where, c.Fields), " and ")
}

var (
	conditionField = regexp.MustCompile(`conditions\[\?\(@\.type=="?(\w+)"?\)\]\.(\w+)$`)
	keyedField     = regexp.MustCompile(`\.(annotations|labels|data)\.(.+)$`)
)

// plainField is the name of a field in words: "ready replicas" for .status.readyReplicas.
func plainField(path string) string {
	if m := conditionField.FindStringSubmatch(path); m != nil {
		return splitWords(m[2]) + " of condition " + m[1]
	}
	if m := keyedField.FindStringSubmatch(path); m != nil {
		kind := map[string]string{"annotations": "annotation", "labels": "label", "data": "value"}[m[1]]
		return kind + " " + strings.Trim(strings.ReplaceAll(m[2], `\`, ""), "'[]")
	}
	last := path[strings.LastIndexByte(path, '.')+1:]
	if i := strings.IndexByte(last, '['); i >= 0 {
		last = last[:i]
	}
	return splitWords(last)
}

// splitWords splits a name such as readyReplicas into words.
func splitWords(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
