package learn

import (
	"cmp"
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

// namespaceSuffix is what a lesson may append to the name of its namespace.
var namespaceSuffix = regexp.MustCompile(`^[a-z0-9]+$`)

// validate validates the front matter.
func (l *Lesson) validate(m *mistakes) {
	begin := m.block.startLine
	m.requireUnless(l.Title == "", begin, "the lesson has no title")
	m.requireUnless(l.Summary == "", begin, "the lesson has no summary: say in one sentence what it teaches")
	m.rejectIf(l.Minutes < 0, m.lineOf("minutes"), "minutes: %d is negative", l.Minutes)
	m.rejectIf(l.Nodes < 0, m.lineOf("nodes"), "nodes: %d is negative", l.Nodes)
	for i, ns := range l.Namespaces {
		m.rejectIf(!namespaceSuffix.MatchString(ns), m.lineOf("namespaces", i), "namespaces: %q is not a valid suffix: use lower-case letters and digits", ns)
	}
	for name, list := range map[string][]string{"objects": l.Objects, "traces": l.Traces} {
		for i, o := range list {
			m.rejectIf(!isObjectRef(o), m.lineOf(name, i), "%s: %q is not KIND/NAME", name, o)
		}
	}
	l.planeLine = m.lineOf("plane")
}

func readDo(y yamlBlock) (Part, error) {
	d := &Do{Line: y.startLine - 1}
	m, ok := y.decode(d)
	if !ok {
		return nil, m.err()
	}
	m.requireUnless(d.Say == "", d.Line, "do: missing task for the reader (say)")
	m.requireUnless(len(d.Run) == 0, d.Line, "do: missing command (run): --auto and the last hint need it")
	m.rejectIf(d.Within < 0, y.lineOf("within"), "within: %v is negative", d.Within)
	m.checkList(d.Until)
	return d, m.err()
}

func readRun(y yamlBlock) (Part, error) {
	r := &Act{Line: y.startLine - 1}
	m, ok := y.decode(r)
	if !ok {
		return nil, m.err()
	}
	m.requireUnless(len(r.Run) == 0 && len(r.Until) == 0, r.Line, "run: missing command (run) or check (until)")
	m.rejectIf(r.Within < 0, y.lineOf("within"), "within: %v is negative", r.Within)
	m.checkList(r.Until)
	return r, m.err()
}

func readShow(y yamlBlock) (Part, error) {
	s := &Show{Line: y.startLine - 1}
	m, ok := y.decode(s)
	if !ok {
		return nil, m.err()
	}
	set := 0
	for _, is := range []bool{s.Trace != "", s.Why != "", s.Queues != nil, s.Activity != nil, s.Held != "", s.Log != "", s.Command != ""} {
		if is {
			set++
		}
	}
	m.requireOne(set, s.Line, "show: set exactly one of trace, why, queues, activity, held, log and command, not %d")
	m.rejectIf(s.Trace != "" && !isObjectRef(s.Trace), y.lineOf("trace"), "trace: %q is not KIND/NAME", s.Trace)
	m.rejectIf(s.Why != "" && isObjectRef(s.Why) == (s.Where != "" || s.Deleted && !isObjectRef(s.Why)), y.lineOf("why"), "why: use KIND/NAME, or KIND with a label selector in where")
	if set > 0 { // otherwise that is what is missing
		m.requireUnless(s.Trace == "" && (s.Controller != "" || s.Depth != 0 || s.Recent), s.Line, "show: controller, depth and recent need trace")
		m.requireUnless(s.Why == "" && (s.Where != "" || s.Deleted || s.Changed), s.Line, "show: where, deleted and changed need why")
		m.requireUnless(s.Log == "" && s.Says != "", s.Line, "show: says needs log")
	}
	m.rejectIf(s.Deleted && s.Changed, s.Line, "show: deleted and changed exclude each other")
	m.rejectIf(s.Depth < 0 || s.Lines < 0, s.Line, "show: depth and lines cannot be negative")
	m.checkPattern(y.lineOf("says"), s.Says)
	m.checkSelector(y.lineOf("where"), s.Where)
	return s, m.err()
}

func isObjectRef(s string) bool {
	kind, name, ok := strings.Cut(s, "/")
	return ok && kind != "" && name != "" && !strings.Contains(name, "/")
}

func (m *mistakes) checkSelector(line int, s string) {
	_, err := labels.Parse(s)
	m.rejectIf(err != nil, line, "where: %q is not a label selector: %w", s, err)
}

func (m *mistakes) checkPattern(line int, pattern string) {
	_, err := regexp.Compile(pattern)
	m.rejectIf(err != nil, line, "%w", err)
}

// checkList validates the checks of a block.
func (m *mistakes) checkList(list []*Check) {
	for i, c := range list {
		line := m.lineOf("until", i)
		m.requireUnless(c == nil, line, "until: a check is empty")
		if c != nil {
			c.Line = line
			m.check(c)
		}
	}
}

// queueNumbers are the measures of a queue: the current depth and inFlight, the others
// since the last Do or Act began.
var queueNumbers = []string{"depth", "inFlight", "adds", "done", "retries"}

// check validates a check.
func (m *mistakes) check(c *Check) {
	set := c.setMeasures()
	m.requireOne(len(set), c.Line, "a check measures exactly one of object, count, records, queue, controller, held, command and settled, not %d: %s", strings.Join(set, ", "))
	m.rejectIf(c.Object != "" && !isObjectRef(c.Object), c.Line, "object: %q is not KIND/NAME", c.Object)
	m.requireUnless(c.Object == "" && c.Path != "", c.Line, "path needs object")
	m.requireUnless(c.Object != "" && c.Path == "" && (c.Is != nil || c.Not != nil || c.Matches != "" || c.AtLeast != nil || c.AtMost != nil), c.Line, "object: missing path: add it, or leave out the expectation")
	m.requireUnless(c.Count == "" && c.Where+c.Fields != "", c.Line, "where and fields need count")
	m.rejectIf(c.Queue != "" && !slices.Contains(queueNumbers, c.Of), c.Line, "of: %q is not one of %s", c.Of, strings.Join(queueNumbers, ", "))
	m.requireUnless(c.Held == "" && c.Resource != "", c.Line, "resource needs held")
	m.requireUnless(c.Queue == "" && c.Of != "", c.Line, "of needs queue")
	m.requireUnless(c.Controller != "" && !c.hasExpectation(), c.Line, "controller: missing state (is)")
	m.requireUnless(c.Gone && c.Object == "" && c.Count == "", c.Line, "gone needs object or count")
	m.rejectIf(c.Settled && c.hasExpectation(), c.Line, "settled cannot be combined with another expectation")
	m.checkSyntax(c)
}

// checkSyntax parses the selectors, paths and patterns of a check.
func (m *mistakes) checkSyntax(c *Check) {
	m.checkSelector(c.Line, c.Where)
	_, err := fields.ParseSelector(c.Fields)
	m.rejectIf(err != nil, c.Line, "fields: %q is not a field selector: %w", c.Fields, err)
	if c.Path != "" {
		err := jsonpath.New("").Parse(jsonPathTemplate(c.Path))
		m.rejectIf(err != nil, c.Line, "path: %q is not a JSONPath expression: %w", c.Path, err)
	}
	if c.Controller != "" {
		for _, state := range []*string{c.Is, c.Not} {
			m.rejectIf(state != nil && !slices.Contains(controllerStates, *state), c.Line, "controller: %q is not a state of a controller: %s", deref(state),
				suggest.Hint(deref(state), controllerStates, "use one of "+strings.Join(controllerStates, ", ")))
		}
	}
	m.checkPattern(c.Line, c.Matches)
	if r := c.Records; r != nil {
		m.checkPattern(c.Line, r.Says)
		m.add(r.validate(c.Line))
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
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
