// Package traceformat_test reads traces with the programs that the formats are made for: a
// collector's decoder for OTLP, and Mermaid in a headless browser.
package traceformat_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// hostileTexts are names and messages with a meaning in some format.
var hostileTexts = []string{
	"semi;colon", "a # b #59; c", "%% comment", "a: b: c", "end", "alt else loop", "<br/> <b>bold</b>", "</script><script>alert(1)</script>",
	`"quoted" 'and' back\slash`, "{braces} [brackets] (round)", "->> -->> -x", "participant api", "control \x00\x07\x1b[31m red\nnext line\r",
	"right \u202eto left\u202c \u2028 end", "\xff\xfe not UTF-8", "עברית and العربية", "$$x^2$$ `code`", "a-name-that-is-very-long-" + strings.Repeat("x", 400), "+5 -5", "@{ }", "::icon", `style: {color:#fff} the rest`,
	"over a,b", "as alias", "%%{init: {}}%%", "title: x", "autonumber", "end note", "api", "c1", "outside",
}

// scenarios are the recordings of package trace, and the objects that they are about.
var scenarios = map[string]observe.Object{
	"rollout":  {Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"},
	"cascade":  {Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"},
	"conflict": {Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "busy"},
	"quota":    {Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "small", Name: "greedy"},
	"node":     {Resource: "nodes", Kind: "Node", Name: "n1"},
}

func readJournal(t *testing.T, name string) (list []observe.Record) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "observe", "trace", "testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r observe.Record
		testutil.DecodeJSON(t, lines.Bytes(), &r)
		list = append(list, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// hostileJournal has hostile texts as names of controllers, keys, objects and in errors,
// and the object that all of it is about.
func hostileJournal() (list []observe.Record, about observe.Object) {
	about = observe.Object{Resource: "configmaps", Kind: "ConfigMap", Namespace: "shop", Name: "x;y:z#"}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	add := func(e observe.Event) uint64 {
		at = at.Add(time.Millisecond)
		list = append(list, observe.Record{Seq: uint64(len(list) + 1), Time: at, Event: e})
		return uint64(len(list))
	}
	add(&observe.Called{Controller: "kubectl (x;y)", Verb: "create", Object: about, Status: 201, Began: at, Took: time.Microsecond, ResourceVersion: "5", Client: &observe.Caller{}})
	for i, text := range hostileTexts {
		id := uint64(i + 1)
		cause := add(&observe.Delivered{Controller: text, Change: observe.Added, Object: about, ResourceVersion: "5", Queues: []string{text}, Adds: []uint64{1}})
		add(&observe.Called{Controller: text, Verb: "update", Object: about, Subresource: "status", Status: 422, Error: text, Began: at, Took: time.Microsecond, Sync: id})
		add(&observe.Logged{Controller: text, Level: 8, Message: text, Sync: id})
		add(&observe.Synced{Controller: text, Queue: text, ID: id, Key: text, KeyBasis: observe.BasisLog, Add: 1, Cause: cause, Sure: i%2 == 0, Took: time.Millisecond, Error: text})
	}
	return list, about
}

// foldedTree is the name of a trace in which diagrams fold attempts.
const foldedTree = "folded"

// eachTree calls test with the trace of each scenario, in a format.
func eachTree(t *testing.T, format trace.Format, test func(t *testing.T, tree *trace.Tree, text string)) {
	t.Helper()
	run := func(name string, records []observe.Record, about observe.Object, o trace.Options) {
		t.Run(name, func(t *testing.T) {
			tree, err := trace.Build(records, about, o)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := tree.Write(&b, format, trace.Style{}); err != nil {
				t.Fatal(err)
			}
			test(t, tree, b.String())
		})
	}
	for name, about := range scenarios {
		run(name, readJournal(t, name), about, trace.Options{All: true})
	}
	records, about := hostileJournal()
	run("hostile", records, about, trace.Options{All: true})
	run(foldedTree, readJournal(t, "quota"), scenarios["quota"], trace.Options{})
}

// countNodes returns the nodes of a tree by their kind.
func countNodes(tree *trace.Tree) map[trace.Kind]int {
	n := map[trace.Kind]int{}
	for node := range tree.All() {
		n[node.Kind]++
	}
	return n
}

// TestHostileJournal checks that the others are about what they say they are.
func TestHostileJournal(t *testing.T) {
	records, about := hostileJournal()
	tree, err := trace.Build(records, about, trace.Options{All: true})
	if err != nil {
		t.Fatal(err)
	}
	if n := countNodes(tree); n[trace.Sync] < len(hostileTexts) || n[trace.Event] < len(hostileTexts) || n[trace.Call] < len(hostileTexts) {
		t.Errorf("the trace has only %v", n)
	}
}

// TestCollectorReadsOTLP reads each trace as an OpenTelemetry collector does, and checks
// what a backend needs.
func TestCollectorReadsOTLP(t *testing.T) {
	eachTree(t, trace.OTLP, func(t *testing.T, tree *trace.Tree, text string) {
		if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
			t.Error("it is not one line, as the file format requires")
		}
		data, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, n := range countNodes(tree) {
			want += n
		}
		if got := data.SpanCount(); got != want || got == 0 {
			t.Errorf("%d spans, want %d", got, want)
		}
		spans := map[string]ptrace.Span{}
		for _, r := range data.ResourceSpans().All() {
			if name, ok := r.Resource().Attributes().Get("service.name"); !ok || name.AsString() == "" {
				t.Error("a resource without a service.name")
			}
			for _, s := range r.ScopeSpans().All() {
				for _, span := range s.Spans().All() {
					if spans[span.SpanID().String()] != (ptrace.Span{}) {
						t.Errorf("two spans with ID %s", span.SpanID())
					}
					spans[span.SpanID().String()] = span
				}
			}
		}
		for _, span := range spans {
			for _, problem := range problemsOfSpan(span, spans) {
				t.Errorf("span %q: %s", span.Name(), problem)
			}
		}
		if _, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(data); err != nil {
			t.Errorf("as the collector would send it on: %v", err)
		}
	})
}

func problemsOfSpan(span ptrace.Span, all map[string]ptrace.Span) (problems []string) {
	note := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	note(span.TraceID().IsEmpty() || span.SpanID().IsEmpty(), "no ID")
	note(span.Name() == "", "no name")
	note(span.Kind() == ptrace.SpanKindUnspecified, "no kind")
	note(span.StartTimestamp() == 0 || span.EndTimestamp() < span.StartTimestamp(), "from %v to %v", span.StartTimestamp(), span.EndTimestamp())
	if parent := span.ParentSpanID(); !parent.IsEmpty() {
		p, known := all[parent.String()]
		note(!known, "its parent is unknown")
		note(known && p.TraceID() != span.TraceID(), "its parent is of another trace")
		note(parent == span.SpanID(), "it is its own parent")
	}
	for _, l := range span.Links().All() {
		_, known := all[l.SpanID().String()]
		note(!known || l.TraceID() != span.TraceID(), "a link to an unknown span")
		certainty, ok := l.Attributes().Get("ctrlplane.certainty")
		note(!ok || certainty.AsString() != string(trace.Likely), "a link without its certainty")
	}
	for key := range span.Attributes().All() {
		note(!strings.HasPrefix(key, "ctrlplane."), "attribute %q is not in our namespace", key)
	}
	return problems
}
