package learn

import (
	"fmt"
	"strings"
)

// Check is a measure and what is expected of it. Exactly one of Object, Count, Records,
// Queue, Controller, Held, Command and Settled is set. Without an expectation the object
// has to exist, or the number must not be 0.
type Check struct {
	Line int    `yaml:"-"`
	Say  string `yaml:"say"` // what it means that the check holds
	// Missing says what is missing if it does not hold; empty = that is derived from the measure.
	Missing string `yaml:"missing"`

	Object     string   `yaml:"object"`     // KIND/NAME; the value is what Path finds
	Count      string   `yaml:"count"`      // KIND: the number of objects
	Records    *Records `yaml:"records"`    // the number of records
	Queue      string   `yaml:"queue"`      // its Of
	Controller string   `yaml:"controller"` // its state: running, paused, off …
	Held       string   `yaml:"held"`       // controller: the number of its held writes
	Command    string   `yaml:"command"`    // its output
	Settled    bool     `yaml:"settled"`    // whether the control plane has settled

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
	Gone    bool     `yaml:"gone"` // the object, or all counted objects, must not exist
}

// Records selects records about the lesson's namespaces since the last Do or Act began.
// Fields that are not set match everything.
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

// setMeasures returns the names of the measures that are set.
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

// String describes the check.
func (c *Check) String() string { return c.describeMeasure() + " " + c.describeExpectation() }

// describeMeasure describes what is measured.
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
		return strings.Join(nonEmpty("number of held writes of "+c.Held, c.Resource), " to ")
	case c.Command != "":
		return "output of " + c.Command
	}
	return "control plane"
}

// String describes the selection.
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
