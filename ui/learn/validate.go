package learn

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/util/jsonpath"

	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/observe"
)

// blockNames are the blocks that are not listings, in the order of the documentation.
var blockNames = []string{"do", "run", "show", "ask"}

var blockReaders = map[string]func(yamlBlock) (Part, error){"do": readDo, "run": readRun, "show": readShow, "ask": readAsk}

// validate validates the front matter.
func (l *Lesson) validate(y yamlBlock) error {
	switch {
	case l.Title == "":
		return parseErrorf(y.startLine, "the lesson has no title")
	case l.Summary == "":
		return parseErrorf(y.startLine, "the lesson has no summary: say in one sentence what it teaches")
	case l.Minutes < 0:
		return parseErrorf(y.lineOf("minutes"), "minutes: %d is negative", l.Minutes)
	case l.Nodes < 0:
		return parseErrorf(y.lineOf("nodes"), "nodes: %d is negative", l.Nodes)
	}
	for i, ns := range l.Namespaces {
		if !regexp.MustCompile(`^[a-z0-9]+$`).MatchString(ns) {
			return parseErrorf(y.lineOf("namespaces", i), "namespaces: %q is not a valid suffix: use lower-case letters and digits", ns)
		}
	}
	for name, list := range map[string][]string{"objects": l.Objects, "traces": l.Traces} {
		for i, o := range list {
			if !isObjectRef(o) {
				return parseErrorf(y.lineOf(name, i), "%s: %q is not KIND/NAME", name, o)
			}
		}
	}
	return nil
}

func readDo(y yamlBlock) (Part, error) {
	d := &Do{Line: y.startLine - 1}
	if err := y.decode(d); err != nil {
		return nil, err
	}
	switch {
	case d.Say == "":
		return nil, parseErrorf(d.Line, "do: missing task for the reader (say)")
	case len(d.Run) == 0:
		return nil, parseErrorf(d.Line, "do: missing command (run): --auto and the last hint need it")
	case d.Within < 0:
		return nil, parseErrorf(y.lineOf("within"), "within: %v is negative", d.Within)
	}
	return d, validateChecks(y, d.Until)
}

func readRun(y yamlBlock) (Part, error) {
	r := &Act{Line: y.startLine - 1}
	if err := y.decode(r); err != nil {
		return nil, err
	}
	switch {
	case len(r.Run) == 0 && len(r.Until) == 0:
		return nil, parseErrorf(r.Line, "run: missing command (run) or check (until)")
	case r.Within < 0:
		return nil, parseErrorf(y.lineOf("within"), "within: %v is negative", r.Within)
	}
	return r, validateChecks(y, r.Until)
}

func readShow(y yamlBlock) (Part, error) {
	s := &Show{Line: y.startLine - 1}
	if err := y.decode(s); err != nil {
		return nil, err
	}
	set := 0
	for _, is := range []bool{s.Trace != "", s.Why != "", s.Queues != nil, s.Activity != nil, s.Held != "", s.Log != "", s.Command != ""} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		return nil, parseErrorf(s.Line, "show: set exactly one of trace, why, queues, activity, held, log and command, not %d", set)
	case s.Trace != "" && !isObjectRef(s.Trace):
		return nil, parseErrorf(y.lineOf("trace"), "trace: %q is not KIND/NAME", s.Trace)
	case s.Why != "" && isObjectRef(s.Why) == (s.Where != "" || s.Deleted && !isObjectRef(s.Why)):
		return nil, parseErrorf(y.lineOf("why"), "why: use KIND/NAME, or KIND with a label selector in where")
	case s.Trace == "" && (s.Controller != "" || s.Depth != 0 || s.Recent):
		return nil, parseErrorf(s.Line, "show: controller, depth and recent need trace")
	case s.Why == "" && (s.Where != "" || s.Deleted || s.Changed):
		return nil, parseErrorf(s.Line, "show: where, deleted and changed need why")
	case s.Deleted && s.Changed:
		return nil, parseErrorf(s.Line, "show: deleted and changed exclude each other")
	case s.Log == "" && s.Says != "":
		return nil, parseErrorf(s.Line, "show: says needs log")
	case s.Depth < 0 || s.Lines < 0:
		return nil, parseErrorf(s.Line, "show: depth and lines cannot be negative")
	}
	if _, err := regexp.Compile(s.Says); err != nil {
		return nil, parseErrorf(y.lineOf("says"), "%w", err)
	}
	return s, validateSelector(y.lineOf("where"), s.Where)
}

func isObjectRef(s string) bool {
	kind, name, ok := strings.Cut(s, "/")
	return ok && kind != "" && name != "" && !strings.Contains(name, "/")
}

func validateSelector(line int, s string) error {
	if _, err := labels.Parse(s); err != nil {
		return parseErrorf(line, "where: %q is not a label selector: %w", s, err)
	}
	return nil
}

func validateChecks(y yamlBlock, list []*Check) error {
	var errs []error
	for i, c := range list {
		line := y.lineOf("until", i)
		if c == nil {
			errs = append(errs, parseErrorf(line, "until: a check is empty"))
			continue
		}
		c.Line = line
		errs = append(errs, c.validate())
	}
	return errors.Join(errs...)
}

// queueNumbers are the measures of a queue: the current depth and inFlight, the others
// since the last Do or Act began.
var queueNumbers = []string{"depth", "inFlight", "adds", "done", "retries"}

// validate validates a check.
func (c *Check) validate() error {
	wrong := func(format string, args ...any) error { return parseErrorf(c.Line, format, args...) }
	set := c.setMeasures()
	known := false
	for _, n := range queueNumbers {
		known = known || n == c.Of
	}
	switch {
	case len(set) != 1:
		return wrong("a check measures exactly one of object, count, records, queue, controller, held, command and settled, not %d: %s", len(set), strings.Join(set, ", "))
	case c.Object != "" && !isObjectRef(c.Object):
		return wrong("object: %q is not KIND/NAME", c.Object)
	case c.Object == "" && c.Path != "":
		return wrong("path needs object")
	case c.Object != "" && c.Path == "" && (c.Is != nil || c.Not != nil || c.Matches != "" || c.AtLeast != nil || c.AtMost != nil):
		return wrong("object: missing path: add it, or leave out the expectation")
	case c.Count == "" && c.Where+c.Fields != "":
		return wrong("where and fields need count")
	case c.Queue != "" && !known:
		return wrong("of: %q is not one of %s", c.Of, strings.Join(queueNumbers, ", "))
	case c.Held == "" && c.Resource != "":
		return wrong("resource needs held")
	case c.Queue == "" && c.Of != "":
		return wrong("of needs queue")
	case c.Controller != "" && !c.hasExpectation():
		return wrong("controller: missing state (is)")
	case c.Gone && c.Object == "" && c.Count == "":
		return wrong("gone needs object or count")
	case c.Settled && c.hasExpectation():
		return wrong("settled cannot be combined with another expectation")
	}
	return c.validateSyntax()
}

// validateSyntax parses the check's selectors, paths and patterns.
func (c *Check) validateSyntax() error {
	if err := validateSelector(c.Line, c.Where); err != nil {
		return err
	}
	if _, err := fields.ParseSelector(c.Fields); err != nil {
		return parseErrorf(c.Line, "fields: %q is not a field selector: %w", c.Fields, err)
	}
	if c.Path != "" {
		if err := jsonpath.New("").Parse(jsonPathTemplate(c.Path)); err != nil {
			return parseErrorf(c.Line, "path: %q is not a JSONPath expression: %w", c.Path, err)
		}
	}
	if c.Controller != "" {
		for _, state := range []*string{c.Is, c.Not} {
			if state != nil && !slices.Contains(controllerStates, *state) {
				return parseErrorf(c.Line, "controller: %q is not a state of a controller: %s", *state,
					suggest.Hint(*state, controllerStates, "use one of "+strings.Join(controllerStates, ", ")))
			}
		}
	}
	patterns := []string{c.Matches}
	if r := c.Records; r != nil {
		patterns = append(patterns, r.Says)
		if err := r.validate(c.Line); err != nil {
			return err
		}
	}
	for _, p := range patterns {
		if _, err := regexp.Compile(p); err != nil {
			return parseErrorf(c.Line, "%w", err)
		}
	}
	return nil
}

var controllerStates = observe.ControllerStates()

// recordVerbs are the verbs of records, by their kind.
var recordVerbs = map[string][]string{
	"called":    append(slices.Clone(observe.Verbs), observe.VerbRestore),
	"delivered": {string(observe.Added), string(observe.Updated), string(observe.Deleted), string(observe.Listed), string(observe.Resynced)},
	"synced":    nil,
	"logged":    nil,
}

// validate validates the kind and the verb.
func (r *Records) validate(line int) error {
	kind := cmp.Or(r.Kind, "called")
	verbs, known := recordVerbs[kind]
	switch {
	case !known:
		return parseErrorf(line, "kind: %q is not one of called, synced, logged, delivered", r.Kind)
	case r.Verb == "" || slices.Contains(verbs, r.Verb):
		return nil
	case verbs == nil:
		return parseErrorf(line, "verb needs the kind called or delivered")
	}
	return parseErrorf(line, "verb: %q is not one of %s, the verbs of kind %s", r.Verb, strings.Join(verbs, ", "), kind)
}

// jsonPathTemplate is a path in the syntax of the JSONPath library.
func jsonPathTemplate(path string) string {
	if strings.Contains(path, "{") {
		return path
	}
	return "{" + path + "}"
}
