package assert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]Limit{
		"0": {"", 0}, "12": {"", 12}, "deployment=0": {"deployment", 0}, "manager (system:admin)=3": {"manager (system:admin)", 3}, "a=b=1": {"a=b", 1},
	} {
		if got, err := ParseLimit(text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		} else if got.String() != text {
			t.Errorf("%s: printed as %s", text, got)
		}
	}
	for _, text := range []string{"", "-1", "x", "=1", "deployment=", "deployment", "1.5", "deployment=-1"} {
		if got, err := ParseLimit(text); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "NAME=N") {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)

func record(seq uint64, e observe.Event) observe.Record {
	return observe.Record{Seq: seq, Time: start.Add(time.Duration(seq) * time.Millisecond), Event: e}
}

func testSnapshot() observe.Snapshot {
	return observe.Snapshot{
		Controllers: []observe.Controller{
			{Name: "deployment-controller", Aliases: []string{"deployment"}, Conflicts: 2, Failures: 1},
			{Name: "job-controller", Conflicts: 1},
			{Name: "taint-eviction-controller", Conflicts: -1, Failures: -1},
		},
		Clients: []observe.Client{{Name: "manager (system:admin)", Conflicts: 4}, {Name: "manager (bob)", Conflicts: 1}},
	}
}

func testRecords() []observe.Record {
	web := observe.Object{Resource: "deployments", Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	return []observe.Record{
		record(1, &observe.Called{Controller: "deployment-controller", Verb: "update", Object: web, Subresource: "status", Status: 409, Conflict: true}),
		record(2, &observe.Called{Controller: "job-controller", Verb: "patch", Object: web, Status: 409, Conflict: true}),
		record(3, &observe.Synced{Controller: "deployment-controller", Queue: "deployment", Key: "shop/web", Error: "no\nquota"}),
		record(4, &observe.Synced{Controller: "deployment-controller", Queue: "deployment", Key: "shop/web"}),
	}
}

// fullName knows a short name, that of a controller.
func fullName(name string) string {
	if name == "deploy" {
		return "deployment-controller"
	}
	return name
}

func TestCheckLimits(t *testing.T) {
	for _, test := range []struct {
		rules Rules
		want  Result
	}{
		{Rules{Conflicts: []Limit{{"", 3}}}, Result{Rule: "--max-conflicts 3"}},
		{Rules{Conflicts: []Limit{{"", 2}}}, Result{
			Rule: "--max-conflicts 2", Failure: "3 conflicts of all controllers, at most 2 allowed",
			Evidence: []string{
				"03:04:05.001  deployment-controller had a conflict when it tried to update Deployment shop/web status",
				"03:04:05.002  job-controller had a conflict when it tried to patch Deployment shop/web",
			},
		}},
		{Rules{Conflicts: []Limit{{"job", 0}}}, Result{
			Rule: "--max-conflicts job=0", Failure: "1 conflict of job-controller, at most 0 allowed",
			Evidence: []string{"03:04:05.002  job-controller had a conflict when it tried to patch Deployment shop/web"},
		}},
		{Rules{Conflicts: []Limit{{"job-controller", 1}}}, Result{Rule: "--max-conflicts job-controller=1"}},
		{Rules{Conflicts: []Limit{{"manager", 5}}}, Result{Rule: "--max-conflicts manager=5"}},
		{Rules{Conflicts: []Limit{{"manager (bob)", 0}}}, Result{Rule: "--max-conflicts manager (bob)=0", Failure: "1 conflict of manager (bob), at most 0 allowed"}},
		{Rules{Conflicts: []Limit{{"deploymnt", 9}}}, Result{
			Rule: "--max-conflicts deploymnt=9", Failure: `unknown controller or client "deploymnt": correct the name, or check that the program connects`,
		}},
		{Rules{FailedSyncs: []Limit{{"", 1}}}, Result{Rule: "--max-failed-syncs 1"}},
		{Rules{FailedSyncs: []Limit{{"deployment", 0}}}, Result{
			Rule: "--max-failed-syncs deployment=0", Failure: "1 failed sync of deployment-controller, at most 0 allowed",
			Evidence: []string{"03:04:05.003  deployment-controller sync of shop/web in queue deployment failed: no quota"},
		}},
		{Rules{FailedSyncs: []Limit{{"manager", 0}}}, Result{
			Rule: "--max-failed-syncs manager=0", Failure: "manager (system:admin) is a client: its syncs are not known, only those of controllers are",
		}},
		{Rules{FailedSyncs: []Limit{{"deploy", 0}}, FullName: fullName}, Result{
			Rule: "--max-failed-syncs deploy=0", Failure: "1 failed sync of deployment-controller, at most 0 allowed",
			Evidence: []string{"03:04:05.003  deployment-controller sync of shop/web in queue deployment failed: no quota"},
		}},
		{Rules{Conflicts: []Limit{{"manager (bob)", 0}}, FullName: fullName}, Result{Rule: "--max-conflicts manager (bob)=0", Failure: "1 conflict of manager (bob), at most 0 allowed"}},
		{Rules{NoHotLoop: true}, Result{Rule: "--no-hot-loop"}},
	} {
		got := Check(test.rules, testSnapshot(), testRecords())
		if diff := cmp.Diff([]Result{test.want}, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.rules, diff)
		}
	}
	if none := Check(Rules{}, testSnapshot(), testRecords()); none != nil {
		t.Errorf("without rules: %+v", none)
	}
}

func TestEvidenceIsBounded(t *testing.T) {
	var records []observe.Record
	for i := range uint64(25) {
		records = append(records, record(i+1, &observe.Synced{Controller: "a", Queue: "q", Error: "x"}))
	}
	lines := collectEvidence(records, []string{"a"}, failedSyncLine)
	if len(lines) != maxEvidence+1 || lines[0] != "15 more before" || !strings.HasPrefix(lines[10], "03:04:05.025") {
		t.Errorf("got %q", lines)
	}
}

// loopRecords are a client's writes, each caused by the event of the one before.
func loopRecords(rounds int, every time.Duration) []observe.Record {
	cm := observe.Object{Resource: "configmaps", Kind: "ConfigMap", Namespace: "default", Name: "c"}
	var all []observe.Record
	for i := range rounds {
		seq, version := uint64(2*i+1), fmt.Sprint(10+i)
		at := start.Add(time.Duration(i) * every)
		all = append(all,
			observe.Record{Seq: seq, Time: at, Event: &observe.Called{
				Controller: "loop (me)", Client: &observe.Caller{User: "me"}, Verb: "patch", Object: cm, Status: 200, ResourceVersion: version, Cause: max(seq, 1) - 1,
				Wrote: []observe.Written{{Resource: "configmaps", Namespace: "default", Name: "c", ResourceVersion: version}},
			}},
			observe.Record{Seq: seq + 1, Time: at.Add(time.Millisecond), Event: &observe.Delivered{Controller: "loop (me)", Change: observe.Updated, Object: cm, ResourceVersion: version}})
	}
	return all
}

func TestHotLoop(t *testing.T) {
	got := Check(Rules{NoHotLoop: true}, observe.Snapshot{}, loopRecords(20, 50*time.Millisecond))[0]
	if want := "loop (me): patch of ConfigMap default/c repeats itself: 20 rounds, one every 50ms"; got.Failure != want {
		t.Errorf("got %q, want %q", got.Failure, want)
	}
	if text := strings.Join(got.Evidence, "\n"); !strings.Contains(text, "patched ConfigMap default/c") || !strings.Contains(text, "saw ConfigMap default/c updated") {
		t.Errorf("evidence:\n%s", text)
	}
	for name, records := range map[string][]observe.Record{
		"few rounds": loopRecords(hotRounds-1, time.Millisecond), "a poll": loopRecords(60, time.Second), "nothing": nil,
	} {
		if got := Check(Rules{NoHotLoop: true}, observe.Snapshot{}, records)[0]; got.Failure != "" {
			t.Errorf("%s: %s", name, got.Failure)
		}
	}
}

// creations has a client that creates an object under a generated name for each one that it sees or, if oneEvent is set, all
// of them for the object that it sees first.
func creations(rounds int, oneEvent bool) []observe.Record {
	me, event := &observe.Caller{User: "me"}, uint64(1)
	all := []observe.Record{record(1, &observe.Delivered{Controller: "loop (me)", Change: observe.Added, Object: observe.Object{Resource: "secrets", Name: "a"}, ResourceVersion: "9"})}
	for i := range rounds {
		var suffix []byte
		for n := i; len(suffix) < 5; n /= 10 {
			suffix = append(suffix, "bcdfghjklm"[n%10])
		}
		o := observe.Object{Resource: "configmaps", Kind: "ConfigMap", Namespace: "default", Name: "c-" + string(suffix)}
		version := strconv.Itoa(100 + i)
		for _, e := range []observe.Event{
			&observe.Called{Controller: "loop (me)", Client: me, Verb: "create", Object: o, Status: 201, ResourceVersion: version, Cause: event,
				Wrote: []observe.Written{{Resource: "configmaps", Namespace: "default", Name: o.Name, ResourceVersion: version}}},
			&observe.Delivered{Controller: "loop (me)", Change: observe.Added, Object: o, ResourceVersion: version},
		} {
			all = append(all, observe.Record{Seq: uint64(len(all) + 1), Time: start.Add(time.Duration(i) * 10 * time.Millisecond), Event: e})
		}
		if !oneEvent {
			event = uint64(len(all))
		}
	}
	return all
}

// Creations are progress: it takes more of them to be a hot loop.
func TestHotLoopThatCreates(t *testing.T) {
	for _, oneEvent := range []bool{false, true} {
		enough := hotCreations
		if oneEvent {
			enough = hotGenerated
			if got := Check(Rules{NoHotLoop: true}, observe.Snapshot{}, creations(enough, oneEvent))[0]; got.Failure != "" {
				t.Errorf("a client may want as many objects: %s", got.Failure)
			}
		}
		last := start.Add(time.Duration(enough) * 10 * time.Millisecond)
		if got := currentLoops(creations(enough-1, oneEvent), last); len(got) > 0 {
			t.Errorf("%v: %s", oneEvent, got[0])
		}
		got := currentLoops(creations(enough, oneEvent), last)
		if len(got) != 1 || !strings.HasPrefix(got[0].String(), "loop (me): create of ConfigMap default/c-") || !strings.HasSuffix(got[0].String(), "0 rounds, one every 10ms; each creates another ConfigMap") {
			t.Errorf("%v: %q", oneEvent, got)
		}
	}
}

func TestCurrentLoops(t *testing.T) {
	records := loopRecords(20, 50*time.Millisecond)
	last := start.Add(19 * 50 * time.Millisecond)
	if got := currentLoops(records, last.Add(time.Second)); len(got) != 1 || !strings.Contains(got[0].String(), "patch of ConfigMap default/c repeats itself") {
		t.Errorf("a loop that goes on: %v", got)
	}
	if got := currentLoops(records, last.Add(2*time.Second)); len(got) != 0 {
		t.Errorf("a loop that has ended: %v", got)
	}

	object := observe.Object{Resource: "configmaps", Kind: "ConfigMap", Namespace: "default", Name: "c"}
	want := []HotLoop{{Controller: "loop (me)", Verb: "patch", Object: &object, Rounds: 20, Interval: 50 * time.Millisecond, PerSecond: 20, Wrote: &object, Version: "28"}}
	if diff := cmp.Diff(want, currentLoops(records, last)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(want, FindLoopsOf(object, records, last)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if other := FindLoopsOf(observe.Object{Resource: "configmaps", Kind: "ConfigMap", Namespace: "default", Name: "d"}, records, last); len(other) > 0 {
		t.Errorf("of another object: %v", other)
	}
	want[0].Fields = []string{"data.a", "data.b", "data.c", "data.d"}
	if text := want[0].String(); !strings.HasSuffix(text, "one every 50ms; each changes data.a, data.b, data.c and 1 more") {
		t.Error(text)
	}
	want[0].Key = "default/c"
	if text := want[0].String(); !strings.HasSuffix(text, "and 1 more of ConfigMap default/c") {
		t.Error(text)
	}

	// Of a loop that began before the first record that is kept, not all rounds are known.
	if got := currentLoops(later(records, 0), last.Add(time.Second)); len(got) != 1 || !strings.Contains(got[0].String(), "repeats itself: at least 20 rounds") {
		t.Errorf("a loop that has gone on for longer: %v", got)
	}

	// It went on for longer before it was interrupted, as by a deletion.
	interrupted := slices.Concat(loopRecords(40, 50*time.Millisecond), later(records, time.Minute))
	if got := currentLoops(interrupted, last.Add(time.Minute+time.Second)); len(got) != 1 || !strings.Contains(got[0].String(), "20 rounds") {
		t.Errorf("a loop that goes on again: %v", got)
	}
}

// Two field managers that undo each other's changes are named, also if they are of one client.
func TestLoopOfTwoFieldManagers(t *testing.T) {
	records := loopRecords(20, 50*time.Millisecond)
	n := 0
	for i := range records {
		if c, ok := records[i].Event.(*observe.Called); ok {
			c.FieldManager = []string{"shop-b", "shop-a"}[n%2]
			n++
		}
	}
	last := start.Add(19 * 50 * time.Millisecond)
	if got := currentLoops(records, last); len(got) != 1 || !strings.HasSuffix(got[0].String(), "one every 50ms; as the field managers shop-a, shop-b") {
		t.Errorf("got %v", got)
	}
	for i := range records {
		if c, ok := records[i].Event.(*observe.Called); ok {
			c.FieldManager = "shop-a"
		}
	}
	if got := currentLoops(records, last); len(got) != 1 || got[0].FieldManagers != nil {
		t.Errorf("one manager: %v", got)
	}
}

// later returns loopRecords as of a later time, with later versions.
func later(records []observe.Record, by time.Duration) []observe.Record {
	list := slices.Clone(records)
	for i := range list {
		r := &list[i]
		r.Seq, r.Time = r.Seq+1000, r.Time.Add(by)
		switch e := r.Event.(type) {
		case *observe.Called:
			moved := *e
			moved.Cause, moved.ResourceVersion = e.Cause+1000, "9"+e.ResourceVersion
			moved.Wrote = slices.Clone(e.Wrote)
			moved.Wrote[0].ResourceVersion = moved.ResourceVersion
			r.Event = &moved
		case *observe.Delivered:
			moved := *e
			moved.ResourceVersion = "9" + e.ResourceVersion
			r.Event = &moved
		}
	}
	return list
}

// What the start of the control plane itself has counted is neither in the numbers nor in the evidence.
func TestLimitsExcludeTheStart(t *testing.T) {
	now := testSnapshot()
	now.Journal.StartEnd = 1
	now.Controllers[0].StartConflicts, now.Controllers[0].StartFailures = 1, 1
	limits := []Limit{{Most: 0}}
	got := Check(Rules{Conflicts: limits, FailedSyncs: limits}, now, testRecords())
	want := []Result{
		{Rule: "--max-conflicts 0", Failure: "2 conflicts of all controllers, at most 0 allowed", Evidence: []string{"03:04:05.002  job-controller had a conflict when it tried to patch Deployment shop/web"}},
		{Rule: "--max-failed-syncs 0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
