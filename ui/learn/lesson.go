package learn

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Lesson is a parsed lesson.
type Lesson struct {
	Name  string `yaml:"-"` // the file's name without the extension
	Title string `yaml:"title"`
	// Summary says in one sentence what the lesson teaches.
	Summary string `yaml:"summary"`
	Minutes int    `yaml:"minutes"`
	// Nodes is the number of ready nodes that the lesson needs; missing ones are added.
	Nodes int `yaml:"nodes"`
	// Plane has flags of "ctrlplane up" for a control plane that is started for the
	// lesson.
	Plane []string `yaml:"plane"`
	// Namespaces has the suffixes of additional namespaces: the name of each is that of
	// the lesson's namespace, "-" and the suffix.
	Namespaces []string `yaml:"namespaces"`
	// Objects has the cluster-scoped objects that the lesson creates, as KIND/NAME.
	Objects []string `yaml:"objects"`
	// Traces has objects, as KIND/NAME, whose traces tests compare.
	Traces []string `yaml:"traces"`

	Steps []*Step `yaml:"-"`

	planeLine int // of Plane
}

// label names the lesson as lists of lessons do: "2 level".
func (l *Lesson) label() string {
	number, name, _ := strings.Cut(l.Name, "-")
	if number = strings.TrimLeft(number, "0"); number == "" || strings.Trim(number, "0123456789") != "" {
		return l.Name // of a file
	}
	return number + " " + name
}

// Position returns the number of a step, from 1, and the number of all steps, as the
// reader sees them: without those that are skipped on this machine.
func (l *Lesson) Position(step int) (number, of int) {
	number = 1
	for i, s := range l.Steps {
		if !s.isPossible() {
			continue
		}
		of++
		if i < step {
			number++
		}
	}
	return number, of
}

// Step is the part of a lesson below a heading.
type Step struct {
	Title string
	Line  int
	// Needs is a program that has to be installed, Without one that must not be;
	// otherwise the step is skipped.
	Needs, Without string
	Parts          []Part
}

// Part is a piece of a step: Prose, *Code, *Do, *Act, *Show or *Ask.
type Part interface{ lineNumber() int }

// Prose is Markdown between blocks.
type Prose struct {
	Line int
	Text string
}

// Code is a fenced block that is shown and, if File is set, written to a file of
// that name in the lesson's folder.
type Code struct {
	Line             int
	Lang, File, Text string
}

// Do is a task for the reader. Without checks the reader decides when to continue.
type Do struct {
	Line   int           `yaml:"-"`
	Say    string        `yaml:"say"`
	Run    Commands      `yaml:"run"` // the commands that perform the task
	Until  []*Check      `yaml:"until"`
	Hints  []string      `yaml:"hints"`
	Within time.Duration `yaml:"within"` // time for the checks after the commands
}

// Act is what the lesson does automatically.
type Act struct {
	Line   int           `yaml:"-"`
	Say    string        `yaml:"say"`
	Run    Commands      `yaml:"run"`
	Until  []*Check      `yaml:"until"`
	Within time.Duration `yaml:"within"`
}

// Show shows what the controllers did. Exactly one of the fields in the first group is
// set.
type Show struct {
	Line     int      `yaml:"-"`
	Trace    string   `yaml:"trace"`    // KIND/NAME: what it set off
	Why      string   `yaml:"why"`      // KIND/NAME; or KIND: the newest that Where selects, or the last deleted one
	Queues   []string `yaml:"queues"`   // their numbers since the last Do or Act began
	Activity []string `yaml:"activity"` // controllers: their writes and failed calls since then
	Held     string   `yaml:"held"`     // controller: its held writes
	Log      string   `yaml:"log"`      // controller: its log lines since then that match Says
	Command  string   `yaml:"command"`  // its output

	Say        string `yaml:"say"`
	Says       string `yaml:"says"`       // regular expression, with Log
	Where      string `yaml:"where"`      // label selector, with Why
	Controller string `yaml:"controller"` // with Trace
	Depth      int    `yaml:"depth"`      // with Trace: maximum number of consecutive writes
	Recent     bool   `yaml:"recent"`     // with Trace: only since the last Do or Act began
	Deleted    bool   `yaml:"deleted"`    // with Why: what led to its deletion
	Changed    bool   `yaml:"changed"`    // with Why: what led to its last change
	Lines      int    `yaml:"lines"`      // maximum number of lines; 0 means 40
}

// Ask is a question whose answer is a choice, a number or a text.
type Ask struct {
	Line     int      `yaml:"-"`
	Question string   `yaml:"question"`
	Choices  []Choice `yaml:"choices"`

	Number  *float64 `yaml:"number"`
	Measure *Check   `yaml:"measure"` // its value is the right number

	Pattern string `yaml:"pattern"` // regular expression for the whole text, ignoring case
	Answer  string `yaml:"answer"`  // a text that matches Pattern

	Wrong   []WrongAnswer `yaml:"wrong"`   // explanations of wrong numbers and texts
	Hints   []string      `yaml:"hints"`   // one for each wrong answer
	Explain string        `yaml:"explain"` // shown after the right answer
}

// Choice is one of several answers. Why explains why it is wrong.
type Choice struct {
	Text  string `yaml:"text"`
	Right bool   `yaml:"right"`
	Why   string `yaml:"why"`
}

// WrongAnswer explains why answers that match a pattern are wrong.
type WrongAnswer struct {
	Pattern string `yaml:"pattern"`
	Why     string `yaml:"why"`
}

func (p Prose) lineNumber() int { return p.Line }
func (p *Code) lineNumber() int { return p.Line }
func (p *Do) lineNumber() int   { return p.Line }
func (p *Act) lineNumber() int  { return p.Line }
func (p *Show) lineNumber() int { return p.Line }
func (a *Ask) lineNumber() int  { return a.Line }

// ParseError is an error in a lesson's file.
type ParseError struct {
	File string
	Line int
	Why  string
}

func (m *ParseError) Error() string { return fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.Why) }

// ParseErrors are all errors in a lesson's file, at least one.
type ParseErrors []*ParseError

// Sort sorts the errors by their lines.
func (m ParseErrors) Sort() {
	slices.SortStableFunc(m, func(a, b *ParseError) int { return a.Line - b.Line })
}

// Error returns a line for each error.
func (m ParseErrors) Error() string {
	lines := make([]string, len(m))
	for i, e := range m {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}
