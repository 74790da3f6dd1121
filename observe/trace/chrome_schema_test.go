package trace

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/ctrlplane/ctrlplane/observe"
)

// chromePhase says what the Trace Event Format requires of an event with a phase.
type chromePhase struct {
	required []string
	names    []string // the only ones; nil = any
}

// chromePhases are the phases that we write, as in "Trace Event Format": complete events,
// metadata events, and the start and end of a flow.
var chromePhases = map[string]chromePhase{
	"X": {required: []string{"name", "cat", "ph", "ts", "dur", "pid", "tid"}},
	"M": {required: []string{"name", "ph", "pid", "args"}, names: []string{"process_name", "process_labels", "process_sort_index", "thread_name", "thread_sort_index"}},
	"s": {required: []string{"name", "cat", "ph", "ts", "pid", "tid", "id"}},
	"f": {required: []string{"name", "cat", "ph", "ts", "pid", "tid", "id"}},
}

// chromeFieldTypes are the types of the fields in JSON.
var chromeFieldTypes = map[string]func(any) bool{
	"name": isString, "cat": isString, "ph": isString, "bp": func(v any) bool { return v == "e" },
	"ts": isNumber, "dur": func(v any) bool { return isNumber(v) && v.(float64) >= 0 },
	"pid": isWhole, "tid": isWhole, "id": func(v any) bool { return isWhole(v) || isString(v) },
	"args": func(v any) bool { _, ok := v.(map[string]any); return ok },
}

func isString(v any) bool { s, ok := v.(string); return ok && s != "" && utf8.ValidString(s) }
func isNumber(v any) bool { _, ok := v.(float64); return ok }
func isWhole(v any) bool  { n, ok := v.(float64); return ok && n == float64(int64(n)) }

// chromeProblems checks a file against the format.
func chromeProblems(data []byte) (problems []string) {
	note := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	var file struct {
		TraceEvents     []map[string]any
		DisplayTimeUnit string
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return []string{err.Error()}
	}
	if u := file.DisplayTimeUnit; u != "" && u != "ms" && u != "ns" {
		note("displayTimeUnit %q: want ms or ns", u)
	}
	if len(file.TraceEvents) == 0 {
		note("no events")
	}
	named := map[any]bool{}                // tracks
	flows := map[string][]map[string]any{} // by what joins their events
	for i, e := range file.TraceEvents {
		phase, known := chromePhases[fmt.Sprint(e["ph"])]
		if !known {
			note("event %d: phase %v", i, e["ph"])
			continue
		}
		for _, field := range phase.required {
			if _, ok := e[field]; !ok {
				note("event %d (%v): no %s", i, e["ph"], field)
			}
		}
		for field, v := range e {
			if ok := chromeFieldTypes[field]; ok == nil || !ok(v) {
				note("event %d (%v): %s is %v", i, e["ph"], field, v)
			}
		}
		switch e["ph"] {
		case "M":
			if !slices.Contains(phase.names, fmt.Sprint(e["name"])) {
				note("event %d: metadata %v", i, e["name"])
			}
			if args, _ := e["args"].(map[string]any); !isString(args["name"]) {
				note("event %d: metadata without a name", i)
			}
			if e["name"] == "thread_name" {
				named[e["tid"]] = true
			}
		case "s", "f":
			key := fmt.Sprint(e["cat"], e["name"], e["id"])
			flows[key] = append(flows[key], e)
		}
	}
	for i, e := range file.TraceEvents {
		if e["ph"] == "X" && !named[e["tid"]] {
			note("event %d: track %v has no name", i, e["tid"])
		}
	}
	for key, events := range flows {
		if len(events) != 2 || events[0]["ph"] != "s" || events[1]["ph"] != "f" {
			note("flow %s has not one start and one end: %v", key, events)
		} else if from, to := events[0]["ts"], events[1]["ts"]; isNumber(from) && isNumber(to) && from.(float64) > to.(float64) {
			note("flow %s ends before it starts", key)
		}
	}
	return problems
}

// TestChromeFollowsTheFormat checks each scenario against the public description of the
// format: Perfetto leaves out, without a word, what it cannot read.
func TestChromeFollowsTheFormat(t *testing.T) {
	trees := map[string]*Tree{"hostile": hostileTree()}
	for name, about := range map[string]observe.Object{"rollout": deployment("web"), "cascade": deployment("web"), "conflict": deployment("busy"), "scale": deployment("web")} {
		trees[name] = buildTree(t, name, about, Options{All: true})
	}
	for name, tree := range trees {
		t.Run(name, func(t *testing.T) {
			data := []byte(writeString(t, tree, Chrome, Style{}))
			for _, p := range chromeProblems(data) {
				t.Error(p)
			}
		})
	}
}

// TestChromeProblems checks the check.
func TestChromeProblems(t *testing.T) {
	for name, events := range map[string]string{
		"no duration":      `{"name":"a","cat":"c","ph":"X","ts":1,"pid":1,"tid":1}`,
		"text as a time":   `{"name":"a","cat":"c","ph":"X","ts":"1","dur":1,"pid":1,"tid":1}`,
		"unknown phase":    `{"name":"a","ph":"Q","ts":1,"pid":1,"tid":1}`,
		"unknown metadata": `{"name":"a","ph":"M","pid":1,"args":{"name":"b"}}`,
		"half a flow":      `{"name":"a","cat":"c","ph":"s","ts":1,"pid":1,"tid":1,"id":1}`,
		"flow backwards":   `{"name":"a","cat":"c","ph":"s","ts":2,"pid":1,"tid":1,"id":1},{"name":"a","cat":"c","ph":"f","ts":1,"pid":1,"tid":1,"id":1,"bp":"e"}`,
		"nothing":          ``,
	} {
		if len(chromeProblems([]byte(`{"traceEvents":[`+events+`]}`))) == 0 {
			t.Errorf("%s: no problem is found", name)
		}
	}
}
