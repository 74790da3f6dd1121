package trace

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Slices of a track nest or follow each other, and arrows begin and end on slices.
func TestChromeSlicesNest(t *testing.T) {
	for _, name := range []string{"conflict", "scale"} {
		about := deployment("busy")
		if name == "scale" {
			about = deployment("web")
		}
		var file struct{ TraceEvents []chromeEvent }
		if err := json.Unmarshal([]byte(writeString(t, buildTree(t, name, about, Options{All: true}), Chrome, Style{})), &file); err != nil {
			t.Fatal(err)
		}
		slices := map[int][]chromeEvent{}
		for _, e := range file.TraceEvents {
			if e.Phase == "X" {
				slices[e.Thread] = append(slices[e.Thread], e)
			}
		}
		const rounding = 1.001 // a slice is at least a microsecond long
		for thread, list := range slices {
			for i, a := range list {
				for _, b := range list[i+1:] {
					apart := b.Time >= a.Time+a.Duration-rounding
					inside := b.Time >= a.Time && b.Time+b.Duration <= a.Time+a.Duration+rounding
					if !apart && !inside {
						t.Errorf("track %d: %q at %v+%v and %q at %v+%v", thread, a.Name, a.Time, a.Duration, b.Name, b.Time, b.Duration)
					}
				}
			}
		}
		for _, e := range file.TraceEvents {
			if e.Phase != "s" && e.Phase != "f" {
				continue
			}
			on := false
			for _, s := range slices[e.Thread] {
				on = on || e.Time >= s.Time && e.Time <= s.Time+s.Duration
			}
			if !on {
				t.Errorf("arrow %d (%s) at %v is on no slice of track %d", e.ID, e.Phase, e.Time, e.Thread)
			}
		}
	}
}

// A collector requires identifiers of the right length, parents and links that exist,
// and an end that is not before the start.
func TestOTLPIsValid(t *testing.T) {
	for name, about := range map[string]observe.Object{"cascade": deployment("web"), "scale": deployment("web"), "node": {Resource: "nodes", Kind: "Node", Name: "n1"}} {
		var file otlpData
		if err := json.Unmarshal([]byte(writeString(t, buildTree(t, name, about, Options{}), OTLP, Style{})), &file); err != nil {
			t.Fatal(err)
		}
		spans := map[string]otlpSpan{}
		for _, r := range file.ResourceSpans {
			for _, s := range r.ScopeSpans[0].Spans {
				spans[s.SpanID] = s
			}
		}
		id, trace := regexp.MustCompile(`^[0-9a-f]{16}$`), regexp.MustCompile(`^[0-9a-f]{32}$`)
		links := 0
		for _, s := range spans {
			if !id.MatchString(s.SpanID) || !trace.MatchString(s.TraceID) || s.Start > s.End || s.Name == "" {
				t.Errorf("span %+v", s)
			}
			if s.ParentSpanID != "" && spans[s.ParentSpanID].SpanID == "" {
				t.Errorf("span %q has an unknown parent", s.Name)
			}
			for _, l := range s.Links {
				links++
				if spans[l.SpanID].SpanID == "" || l.TraceID != s.TraceID {
					t.Errorf("span %q has a link to an unknown span", s.Name)
				}
			}
		}
		if name == "node" && links == 0 {
			t.Error("no link of a likely cause")
		}
	}
}

func TestMermaidIsEscaped(t *testing.T) {
	text := writeString(t, buildTree(t, "conflict", deployment("busy"), Options{}), Mermaid, Style{})
	if strings.Contains(text, ";") {
		t.Errorf("a semicolon in:\n%s", text)
	}
	for text, want := range map[string]string{
		"a # b #59; c":                 "a ＃ b ＃59, c",
		"%% comment":                   "% comment",
		`Site style: 422: "{a:#fff}"`:  `Site style: 422: "{a:＃fff}"`, // an entity would lose its semicolon: Mermaid reads a style
		"system:serviceaccount:shop:a": "system:serviceaccount:shop:a",
		"two\nlines":                   "two lines",
	} {
		if got := escapeMermaid(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Mermaid counts as JavaScript does.
func TestMermaidLength(t *testing.T) {
	for diagram, want := range map[string]int{"": 0, "a b": 3, "é→": 2, "😀": 2} {
		if got := MermaidLength(diagram); got != want {
			t.Errorf("%q: %d, want %d", diagram, got, want)
		}
	}
}

// Diagrams say what the text says of an event: a deletion that has only marked its object is not an update.
func TestMermaidSaysWhatHasChanged(t *testing.T) {
	text := writeString(t, buildTree(t, "foreground", deployment("busy"), Options{}), Mermaid, Style{})
	if want := "Deployment busy marked as deleted"; !strings.Contains(text, want) {
		t.Errorf("no %q in:\n%s", want, text)
	}
}

// The API server makes writes of its own, which diagrams attribute to it as the text does.
func TestDiagramsNameTheActorsOfTheText(t *testing.T) {
	crd := observe.Object{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Kind: "CustomResourceDefinition", Name: "sites.x.io"}
	for name, tc := range map[string]struct {
		after time.Duration // of an update without a recorded call
		want  map[Format]string
	}{
		"the API server": {20 * time.Millisecond, map[Format]string{
			Mermaid: "\n  api->>api: +21.0 ms update CustomResourceDefinition sites.x.io (likely)\n", Chrome: `{"name":"the API server"}`, OTLP: `{"stringValue":"the API server"}`,
		}},
		"one of two": {time.Minute, map[Format]string{
			Mermaid: " as the API server or an unrecorded client\n", Chrome: `{"name":"the API server or an unrecorded client"}`,
			OTLP: `{"stringValue":"the API server or an unrecorded client"}`,
		}},
	} {
		var records []observe.Record
		add := func(after time.Duration, e observe.Event) { records = appendLater(records, after, e) }
		add(0, &observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "create", Object: crd, Status: 201, ResourceVersion: "5",
			Wrote: []observe.Written{{Resource: crd.GroupResource(), Name: crd.Name, ResourceVersion: "5"}}})
		add(time.Millisecond, &observe.Delivered{Controller: "garbage-collector-controller", Change: observe.Added, Object: crd, ResourceVersion: "5"})
		add(tc.after, &observe.Delivered{Controller: "garbage-collector-controller", Change: observe.Updated, Object: crd, ResourceVersion: "6"})
		tree, err := Build(records, crd, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for format, want := range tc.want {
			if text := writeString(t, tree, format, Style{}); !strings.Contains(text, want) {
				t.Errorf("%s, %s: no %q in:\n%s", name, format, want, text)
			}
		}
	}
}
