package learn

import (
	"fmt"
	"strings"
)

// Check is something that can be measured, and what it has to be. Exactly one of
// Object, Count, Records, Queue, Controller, Held, Command and Settled is set.
// Without an expectation the measure has to be there: an object, one at least.
type Check struct {
	Line int    `yaml:"-"`
	Say  string `yaml:"say"` // what it means that it holds

	Object     string   `yaml:"object"`     // KIND/NAME; its value is what Path finds
	Count      string   `yaml:"count"`      // KIND: how many there are
	Records    *Records `yaml:"records"`    // how many there are
	Queue      string   `yaml:"queue"`      // its Of
	Controller string   `yaml:"controller"` // its state: running, paused, off …
	Held       string   `yaml:"held"`       // controller: how many writes it has held
	Command    string   `yaml:"command"`    // what it prints
	Settled    bool     `yaml:"settled"`    // whether nothing is left to do

	Path      string  `yaml:"path"`      // of an object: JSONPath
	Where     string  `yaml:"where"`     // with Count: label selector
	Fields    string  `yaml:"fields"`    // with Count: field selector
	Of        string  `yaml:"of"`        // of a queue
	Resource  string  `yaml:"resource"`  // with Held: only writes to it
	Namespace *string `yaml:"namespace"` // nil = the lesson's

	Is      *string  `yaml:"is"`
	Not     *string  `yaml:"not"`
	Matches string   `yaml:"matches"`
	AtLeast *float64 `yaml:"atLeast"`
	AtMost  *float64 `yaml:"atMost"`
	Gone    bool     `yaml:"gone"` // the object, or all that are counted
}

// Records selects records of what happened in the lesson's namespaces since the
// last Do or Act began. What is not set does not matter.
type Records struct {
	Kind       string `yaml:"kind"`       // called (if not set), synced, logged or delivered
	Controller string `yaml:"controller"` // name or alias
	Verb       string `yaml:"verb"`       // of calls; of deliveries added, updated or deleted
	Resource   string `yaml:"resource"`   // RESOURCE[/SUBRESOURCE]
	Status     int    `yaml:"status"`     // of calls
	Queue      string `yaml:"queue"`      // of syncs
	Says       string `yaml:"says"`       // regular expression for the error or the log line
	Failed     *bool  `yaml:"failed"`
	Conflict   *bool  `yaml:"conflict"`
	Retried    *bool  `yaml:"retried"`
	Lesson     bool   `yaml:"lesson"`   // since the lesson began
	Anywhere   bool   `yaml:"anywhere"` // in all namespaces
}

// setMeasures are the names of what a check can measure, with whether it is set.
func (c *Check) setMeasures() (list []string) {
	for _, m := range []struct {
		name string
		set  bool
	}{
		{"object", c.Object != ""}, {"count", c.Count != ""}, {"records", c.Records != nil}, {"queue", c.Queue != ""},
		{"controller", c.Controller != ""}, {"held", c.Held != ""}, {"command", c.Command != ""}, {"settled", c.Settled},
	} {
		if m.set {
			list = append(list, m.name)
		}
	}
	return list
}

// String is the check in a few words.
func (c *Check) String() string { return c.describeMeasure() + " " + c.describeExpectation() }

// describeMeasure is measured, in words.
func (c *Check) describeMeasure() string {
	switch {
	case c.Object != "" && c.Path != "":
		return c.Object + " " + c.Path
	case c.Object != "":
		return c.Object
	case c.Count != "":
		return strings.Join(nonEmpty("number of "+c.Count, c.Where, c.Fields), " with ")
	case c.Records != nil:
		return "number of records of " + c.Records.String()
	case c.Queue != "":
		return c.Of + " of queue " + c.Queue
	case c.Controller != "":
		return "state of " + c.Controller
	case c.Held != "":
		return strings.Join(nonEmpty("number of writes held of "+c.Held, c.Resource), " to ")
	case c.Command != "":
		return "output of " + c.Command
	}
	return "control plane"
}

// String is the selection in a few words.
func (r *Records) String() string {
	words := nonEmpty(r.Controller, r.Kind, r.Verb, r.Resource, r.Queue, r.Says)
	for _, f := range []struct {
		name string
		is   *bool
	}{{"failed", r.Failed}, {"conflict", r.Conflict}, {"retried", r.Retried}} {
		if f.is != nil {
			words = append(words, fmt.Sprintf("%s=%t", f.name, *f.is))
		}
	}
	return strings.Join(words, " ")
}

func nonEmpty(words ...string) (list []string) {
	for _, w := range words {
		if w != "" {
			list = append(list, w)
		}
	}
	return list
}
