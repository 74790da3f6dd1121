package learn

import (
	"fmt"
	"time"
)

// Lesson is a file as it was read.
type Lesson struct {
	Name  string `yaml:"-"` // the file's name without its ending
	Title string `yaml:"title"`
	// Summary says in a sentence what there is to learn.
	Summary string `yaml:"summary"`
	Minutes int    `yaml:"minutes"`
	// Nodes is how many simulated nodes there have to be; missing ones are added.
	Nodes int `yaml:"nodes"`
	// Plane are flags of "ctrlplane up" for a control plane that is started for
	// the lesson.
	Plane []string `yaml:"plane"`
	// Namespaces are further ones that the lesson makes: their names are those of
	// the lesson's own, "-" and these.
	Namespaces []string `yaml:"namespaces"`
	// Objects are those outside of namespaces that the lesson makes: KIND/NAME.
	Objects []string `yaml:"objects"`
	// Traces are objects, as KIND/NAME, whose traces are what is to come of the
	// lesson: for tests.
	Traces []string `yaml:"traces"`

	Steps []*Step `yaml:"-"`
}

// Step is what stands below a heading.
type Step struct {
	Title string
	Line  int
	// Needs names a program without which the step is left out, Without one with
	// which it is.
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

// Do is what the reader is to do. Without checks they look, and go on.
type Do struct {
	Line   int           `yaml:"-"`
	Say    string        `yaml:"say"`
	Run    Commands      `yaml:"run"` // what does it
	Until  []*Check      `yaml:"until"`
	Hints  []string      `yaml:"hints"`
	Within time.Duration `yaml:"within"` // of the checks, after the commands
}

// Act is what the lesson does itself.
type Act struct {
	Line   int           `yaml:"-"`
	Say    string        `yaml:"say"`
	Run    Commands      `yaml:"run"`
	Until  []*Check      `yaml:"until"`
	Within time.Duration `yaml:"within"`
}

// Show shows what the controllers did: one of its first fields.
type Show struct {
	Line     int      `yaml:"-"`
	Trace    string   `yaml:"trace"`    // KIND/NAME: what came of it
	Why      string   `yaml:"why"`      // KIND/NAME; or KIND: the newest that Where selects, or the last that went
	Queues   []string `yaml:"queues"`   // what they have done since the last Do or Act began
	Activity []string `yaml:"activity"` // controllers: their writes and failures since then
	Held     string   `yaml:"held"`     // controller: the writes that are held
	Log      string   `yaml:"log"`      // controller: what it said since then, as far as Says fits
	Command  string   `yaml:"command"`  // what it prints

	Say        string `yaml:"say"`
	Says       string `yaml:"says"`       // regular expression, with Log
	Where      string `yaml:"where"`      // label selector, with Why
	Controller string `yaml:"controller"` // with Trace
	Depth      int    `yaml:"depth"`      // with Trace: how many writes one after the other
	Recent     bool   `yaml:"recent"`     // with Trace: since the last Do or Act began
	Deleted    bool   `yaml:"deleted"`    // with Why: what led to its end
	Lines      int    `yaml:"lines"`      // at most so many; 0 = 40
}

// Ask is a question with choices, with a number or with a text as its answer.
type Ask struct {
	Line     int      `yaml:"-"`
	Question string   `yaml:"question"`
	Choices  []Choice `yaml:"choices"`

	Number  *float64 `yaml:"number"`
	Measure *Check   `yaml:"measure"` // gives the number

	Pattern string `yaml:"pattern"` // regular expression for the whole text, in any case
	Answer  string `yaml:"answer"`  // a text that it fits

	Wrong   []WrongAnswer `yaml:"wrong"`   // numbers and texts that are explained
	Hints   []string      `yaml:"hints"`   // one after each wrong answer
	Explain string        `yaml:"explain"` // after the right one
}

// Choice is one of several answers. Why says what is wrong with it.
type Choice struct {
	Text  string `yaml:"text"`
	Right bool   `yaml:"right"`
	Why   string `yaml:"why"`
}

// WrongAnswer explains answers that fit a pattern.
type WrongAnswer struct {
	Pattern string `yaml:"pattern"`
	Why     string `yaml:"why"`
}

func (p Prose) lineNumber() int { return p.Line }
func (p *Code) lineNumber() int { return p.Line }
func (p *Do) lineNumber() int   { return p.Line }
func (p *Act) lineNumber() int  { return p.Line }
func (p *Show) lineNumber() int { return p.Line }
func (p *Ask) lineNumber() int  { return p.Line }

// ParseError is what is wrong with a lesson's file, and where.
type ParseError struct {
	File string
	Line int
	Why  string
}

func (m *ParseError) Error() string { return fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.Why) }
