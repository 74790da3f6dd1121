package learn

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/observe"
)

// process is a process of a control plane: its records are numbered from 1, and all of them are
// writes in the lesson's namespace.
type process struct {
	started time.Time
	records uint64
	adds    int64
}

func (p *process) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	var answer any = observe.Snapshot{
		Time:    p.started.Add(time.Minute),
		Process: observe.Process{Started: p.started},
		Journal: observe.JournalStats{Last: p.records},
		Queues:  []observe.Queue{{Name: "job", Adds: p.adds, ErrorRetries: -1}},
	}
	if r.URL.Path == controlrest.RecordsPath {
		after, _ := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
		page := observe.Page{Next: max(after, p.records)}
		for seq := after + 1; seq <= p.records; seq++ {
			page.Records = append(page.Records, observe.Record{Seq: seq, Event: &observe.Called{Verb: "create", Object: observe.Object{Resource: "pods", Namespace: "lesson"}}})
		}
		answer = page
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(err)
	}
}

// A control plane that was started again numbers its records from 1 and counts from 0: what a lesson
// measures is what the new process did.
func TestMeasuresAfterARestart(t *testing.T) {
	plane := &process{started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), records: 500, adds: 532}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { plane.ServeHTTP(w, r) }))
	defer server.Close()
	control, err := controlrest.NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	p := &probe{controlPlane: &controlPlane{control: control}, shell: &shell{namespace: "lesson"}}
	r := &runner{plane: p.controlPlane, probe: p, shell: p.shell}
	expect := func(when string, check *Check, want string) {
		t.Helper()
		if got, err := p.measureCheck(t.Context(), check); err != nil || got.text != want {
			t.Errorf("%s, %s: got %q, %v, want %q", when, check, got.text, err, want)
		}
	}
	adds := &Check{Queue: "job", Of: "adds"}
	ofPart, ofLesson := &Check{Records: &Records{}}, &Check{Records: &Records{Lesson: true}}

	if err := p.markStart(t.Context()); err != nil {
		t.Fatal(err)
	}
	plane.records, plane.adds = 502, 533
	expect("before", ofPart, "2")
	expect("before", adds, "1")

	plane = &process{started: plane.started.Add(time.Hour), records: 3, adds: 2}
	expect("after", ofPart, "3")
	expect("after", ofLesson, "3")
	expect("after", adds, "2")
	if _, records, err := r.traceOptions(t.Context()); len(records) != 3 || err != nil {
		t.Errorf("a trace has %d records, %v, want 3", len(records), err)
	}
	if since := p.before.Time; !since.Equal(plane.started) {
		t.Errorf("what is recent began at %s", since)
	}

	if err := p.markStart(t.Context()); err != nil {
		t.Fatal(err)
	}
	plane.records = 7
	expect("in the next part", ofPart, "4")
	expect("in the next part", ofLesson, "7")
}
