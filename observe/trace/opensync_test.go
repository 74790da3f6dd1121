package trace

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// unendedLoop returns the records of a controller that writes an object all the time, without the end of its last
// sync, and the object.
func unendedLoop() ([]observe.Record, observe.Object) {
	records := loopJournal(30, 0, "")
	return records[:len(records)-1], records[0].Event.(*observe.Delivered).Object
}

// Nothing is known of the cause of the newest write if its sync has no recorded end and is not known to run.
// The write before it, whose cause is recorded, is explained.
func TestWhyOfAWriteInASyncWithoutARecordedEnd(t *testing.T) {
	records, web := unendedLoop()
	chain, err := Why(records, web, Options{What: Changed})
	if err != nil {
		t.Fatal(err)
	}
	text := writeString(t, chain, Text, Style{})
	const want = "Later, at 03:04:05.293, widget updated Widget web in a sync without a recorded end: this explains its write before that."
	if chain.Links[0].ResourceVersion != "129" || !strings.Contains(text, want) {
		t.Errorf("version %s is explained; no %q in:\n%.2000s", chain.Links[0].ResourceVersion, want, text)
	}

	var alone []observe.Record // no cause of an earlier write is known, either
	for _, r := range records {
		if r.Event.Kind() == observe.KindCalled {
			alone = append(alone, r)
		}
	}
	if chain, err = Why(alone, web, Options{What: Changed}); err != nil || chain.Links[0].ResourceVersion != "130" || len(chain.Since) > 0 {
		t.Errorf("got %+v, %v", chain, err)
	}
}

// The newest write is explained if its sync is known to run.
func TestWhyOfAWriteInARunningSync(t *testing.T) {
	records, web := unendedLoop()
	newest := records[len(records)-1]
	last, began := newest.Event.(*observe.Called), newest.Time.Add(-2*time.Millisecond)
	chain, err := Why(records, web, Options{What: Changed, State: observe.Snapshot{
		Time: began.Add(40 * time.Second),
		Controllers: []observe.Controller{{Name: last.Controller, Running: []observe.RunningSync{
			{Queue: "widget", ID: last.Sync, Key: web.Key(), KeyBasis: observe.BasisQueue, Since: began},
		}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if chain.Links[0].ResourceVersion != "130" || len(chain.Since) > 0 || len(chain.Links) < 3 || chain.Links[1].Cause == nil || chain.Links[1].Cause.Certainty != Likely {
		t.Errorf("got:\n%.2000s", writeString(t, chain, Text, Style{}))
	}
}

// A write in a sync that has not ended belongs to it, and the sync most likely to the last event of its key.
func TestTraceOfARunningSync(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	site := observe.Object{Group: "example.com", Resource: "sites", Kind: "Site", Namespace: "default", Name: "hang"}
	write := func(verb, version string, status int) *observe.Called {
		return &observe.Called{
			Verb: verb, Object: site, Status: status, Client: &observe.Caller{}, ResourceVersion: version,
			Wrote: []observe.Written{{Resource: "sites.example.com", Namespace: "default", Name: "hang", ResourceVersion: version}},
		}
	}
	created, changed := write("create", "7", 201), write("update", "8", 200)
	created.Controller, created.Began = "kubectl", at
	changed.Controller, changed.Began, changed.Sync = "operator/site", at.Add(3*time.Second), 5
	records := []observe.Record{
		{Seq: 1, Time: at.Add(time.Millisecond), Event: created},
		{Seq: 2, Time: at.Add(time.Second), Event: &observe.Delivered{Controller: "operator/site", Change: observe.Added, Object: site, ResourceVersion: "7", Queues: []string{"site"}, Adds: []uint64{1}}},
		{Seq: 3, Time: at.Add(4 * time.Second), Event: changed},
	}
	running := observe.Snapshot{Time: at.Add(42 * time.Second), Controllers: []observe.Controller{{
		Name: "operator/site", Running: []observe.RunningSync{{Queue: "site", ID: 5, Key: "default/hang", KeyBasis: observe.BasisQueue, Since: at.Add(2 * time.Second)}},
	}}}
	lost := running
	lost.Controllers = slices.Clone(running.Controllers)
	lost.Controllers[0].State = observe.StateUnknown
	for name, tc := range map[string]struct {
		records []observe.Record
		state   observe.Snapshot
		says    string
	}{
		"lost":                 {records, lost, "began to sync hang; its process closed its connection without a last report"},
		"running":              {records, running, "began to sync hang, and still does after 40.0 s"},
		"running and no write": {records[:2], running, "began to sync hang, and still does after 40.0 s"},
		"not known to run":     {records, observe.Snapshot{}, "a sync without a recorded end"},
	} {
		tree, err := Build(tc.records, site, Options{State: tc.state})
		if err != nil {
			t.Fatal(err)
		}
		if text := writeString(t, tree, Text, Style{}); len(tree.Roots) != 1 || !strings.Contains(text, "operator/site saw it added, "+tc.says) || strings.Contains(text, "more change") {
			t.Errorf("%s: no %q in:\n%s", name, tc.says, text)
		}
	}
}

// A write whose call has not been answered is not that of an unknown client.
func TestWritesThatAreRecordedSoon(t *testing.T) {
	records := clientCalls(observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)})
	seen := records[0].Time.Add(time.Second)
	records = append(records, observe.Record{Seq: 2, Time: seen, Event: &observe.Delivered{
		Controller: "deployment-controller", Change: observe.Updated, Object: deployment("web"), ResourceVersion: "8",
	}})
	for after, want := range map[time.Duration]int{time.Millisecond: 1, time.Second: 2} {
		tree, err := Build(records, deployment("web"), Options{State: observe.Snapshot{Time: seen.Add(after)}})
		if err != nil || len(tree.Roots) != want {
			t.Errorf("after %v: %d roots, want %d, %v", after, len(tree.Roots), want, err)
		}
	}
}

// Why explains the write before such a one, if there is any.
func TestWhyOfAWriteThatIsRecordedSoon(t *testing.T) {
	const unrecorded = "The API server or an unrecorded client updated Deployment web."
	created := observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}
	patched := observe.Called{Verb: "patch", Status: 200, ResourceVersion: "8", Wrote: deploymentWritten("8", false)}
	for name, tc := range map[string]struct {
		calls []observe.Called
		after time.Duration
		want  string
	}{
		"just now":                          {[]observe.Called{created, patched}, time.Millisecond, "\nkubectl (admin) patched Deployment web."},
		"a while ago":                       {[]observe.Called{created, patched}, time.Second, unrecorded},
		"just now, without a change before": {[]observe.Called{created}, time.Millisecond, unrecorded},
	} {
		records := clientCalls(tc.calls...)
		last := records[len(records)-1]
		seen := last.Time.Add(time.Second)
		records = append(records, observe.Record{Seq: last.Seq + 1, Time: seen, Event: &observe.Delivered{
			Controller: "deployment-controller", Change: observe.Updated, Object: deployment("web"), ResourceVersion: "9",
		}})
		chain, err := Why(records, deployment("web"), Options{What: Changed, State: observe.Snapshot{Time: seen.Add(tc.after)}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Log(name)
		checkSays(t, chain, []string{tc.want}, "")
	}
}
