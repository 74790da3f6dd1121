package live

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// brokenJob0 is the object of the first of failingKeys.
var brokenJob0 = observe.Object{Group: "batch", Resource: "jobs", Kind: "Job", Namespace: "default", Name: "broken-0"}

// createdJob are records of the creation of a Job by a client.
func createdJob() []observe.Record {
	return recordsOf(
		&observe.Called{Verb: "create", Object: brokenJob0, Status: 201, ResourceVersion: "7", Took: time.Millisecond, Client: &observe.Caller{User: "kubernetes-admin"}},
		&observe.Delivered{Controller: "job-controller", Change: observe.Added, Object: brokenJob0, ResourceVersion: "7", Queues: []string{"job"}},
		&observe.Called{Controller: "job-controller", Verb: "update", Subresource: "status", Object: brokenJob0, Status: 200, ResourceVersion: "8", Sync: 9})
}

// snapshotOfWorking has a sync that has not ended.
func snapshotOfWorking() observe.Snapshot {
	s := idleSnapshot()
	for i := range s.Controllers {
		if c := &s.Controllers[i]; c.Name == "job-controller" {
			c.Running = []observe.RunningSync{{ID: 9, Queue: "job", Key: brokenJob0.Key(), KeyBasis: observe.BasisQueue, Since: testNow.Add(-2 * time.Second)}}
		}
	}
	return s
}

// w and t say of the present what "ctrlplane why" and "ctrlplane trace" say: which keys of the object fail, who works
// for it, and which syncs have not ended.
func TestStoriesSayWhatFailsAndWorks(t *testing.T) {
	for name, c := range map[string]struct {
		key      action
		snapshot observe.Snapshot
		want     string
	}{
		"failing":     {showWhy, snapshotOfFailing(stateRunning, ""), "job-controller fails for default/broken-0, 2 times in a row: Error creating: pods"},
		"working":     {showWhy, snapshotOfWorking(), "job-controller has been syncing default/broken-0 since 12:00:03.000 (2.0 s)."},
		"not settled": {showTrace, snapshotOfWorking(), "began to sync broken-0, and still does"},
	} {
		source := &fixedSource{snapshot: c.snapshot, records: createdJob()}
		m := newPlainModel(t, Options{Source: source}, 140, 30)
		told := m.storyCmd(c.key, target{object: &brokenJob0})().(storyResult)
		if got := strings.Join(strings.Fields(told.text), " "); told.err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s: %v, want %q in\n%s", name, told.err, c.want, got)
		}
	}
}

// Of an object that is older than the records, w says how it is now, and that its causes are not known.
func TestWhyOfOldObjects(t *testing.T) {
	source := newBrowsableSource()
	source.listing.Items[0].Object = brokenJob0
	source.records = recordsOf(&observe.Delivered{Controller: "job-controller", Change: observe.Listed, Object: brokenJob0, Queues: []string{"job"}})
	m := newPlainModel(t, Options{Source: source}, 140, 30)
	told := m.storyCmd(showWhy, target{object: &brokenJob0})().(storyResult)
	const want = "It is not ready: Pod has failed. What led to it is not known: the records begin at 12:00:03.766, with the last start of the control plane. The key t shows what is recorded."
	if got := strings.Join(strings.Fields(told.text), " "); told.err != nil || got != want {
		t.Errorf("%v, got\n%s", told.err, got)
	}
}

// A story that arrives while keys answer a question does not cover it.
func TestLateStories(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want string // at the end of the screen
	}{
		{[]string{"x"}, "Stop endpointslice-controller?"},
		{[]string{"q"}, "Stop the control plane?"},
		{[]string{"/", "s"}, " /endpoint_slices"},
		{[]string{"?", "/", "s"}, " /s"},
	} {
		source := sourceWithHeldWrites()
		source.records = sampleRecords()
		m := modelOnQueue(t, source, "endpoint_slice")
		story := m.storyCmd(showTrace, target{object: &webPod})()
		m = pressKeys(t, m, c.keys...)
		was := m.overlay
		m = sendMsgs(t, m, story)
		lines := strings.Split(m.View().Content, "\n")
		if last := lines[len(lines)-1]; m.overlay != was || !strings.Contains(last, c.want) {
			t.Errorf("%v: overlay %d, last line %q, want %q", c.keys, m.overlay, last, c.want)
		}
		if !strings.Contains(m.message, "Trace of Pod default/web-7d4b9c-x2x9p is not shown") {
			t.Errorf("%v: message %q", c.keys, m.message)
		}
	}
}

// A story of the present does not cover the past, and one of the past not the present.
func TestStoriesOfAnotherTime(t *testing.T) {
	m := newReplayModel(t, writeRecording(t, frames()), 100, 24)
	story := m.storyCmd(showTrace, target{object: &webPod})()
	m.generation++
	if m = sendMsgs(t, m, story); m.overlay != noOverlay || m.message != "" {
		t.Errorf("overlay %d, message %q", m.overlay, m.message)
	}
}

// changedJob are records of a Job that a client creates, changes and deletes.
func changedJob() []observe.Record {
	byClient := &observe.Caller{User: "kubernetes-admin"}
	wrote := func(version string, deleted bool) []observe.Written {
		return []observe.Written{{Resource: "jobs.batch", Namespace: brokenJob0.Namespace, Name: brokenJob0.Name, ResourceVersion: version, Deleted: deleted}}
	}
	return recordsOf(
		&observe.Called{Controller: "kubectl (admin)", Verb: "create", Object: brokenJob0, Status: 201, ResourceVersion: "7", Took: time.Millisecond, Client: byClient, Wrote: wrote("7", false)},
		&observe.Called{Controller: "kubectl (admin)", Verb: "patch", Object: brokenJob0, Status: 200, ResourceVersion: "9", Took: time.Millisecond, Client: byClient, Wrote: wrote("9", false)},
		&observe.Called{Controller: "kubectl (admin)", Verb: "delete", Object: brokenJob0, Status: 200, Took: time.Millisecond, Client: byClient, Wrote: wrote("10", true)})
}

// pressWhy presses w and shows the answer.
func pressWhy(t *testing.T, m model) model {
	t.Helper()
	next, cmd := m.handleKey(keyMsg("w"))
	if cmd == nil {
		t.Fatalf("w asks nothing: %q", next.message)
	}
	return sendMsgs(t, next, cmd())
}

// requireWhy checks which change a why text explains, and what the footer says of w.
func requireWhy(t *testing.T, m model, what, hint string) {
	t.Helper()
	text := m.View().Content
	if m.overlay != textOverlay || !strings.Contains(text, "Why Job default/broken-0 was "+what+" (") {
		t.Fatalf("w does not say why it was %s: %q\n%s", what, m.message, text)
	}
	if !strings.Contains(text, "w "+hint) {
		t.Errorf("after %s: no %q in the footer of\n%s", what, "w "+hint, text)
	}
}

// In a why text, w goes on to the last change of the object, to its deletion, and back to its creation.
func TestWhyExplainsEachChange(t *testing.T) {
	m := newPlainModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot(), records: changedJob()}}, 100, 30).openObject(brokenJob0)
	m = pressWhy(t, m)
	requireWhy(t, m, "created", "why changed")
	if text := m.text.copied; strings.Contains(text, `"w" shows why`) { // of the deletion, which comes after the last change
		t.Errorf("the text says that w shows another change than the next one:\n%s", text)
	}
	m = pressWhy(t, m)
	requireWhy(t, m, "changed", "why deleted")
	if text := m.text.copied; !strings.Contains(text, `: "w" shows why.`) {
		t.Errorf("the text does not say that w shows why the object was deleted:\n%s", text)
	}
	m = pressWhy(t, m)
	requireWhy(t, m, "deleted", "why created")
	m = pressWhy(t, m)
	requireWhy(t, m, "created", "why changed")
}

// Of an object that was only created, w has nothing else to explain.
func TestWhyOfOneChange(t *testing.T) {
	m := newPlainModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot(), records: changedJob()[:1]}}, 100, 30).openObject(brokenJob0)
	m = pressWhy(t, m)
	requireWhy(t, m, "created", "why")
	requireWhy(t, pressWhy(t, m), "created", "why")
}

// On a line of Activity, and in its text, w begins with the creation, the last change or the deletion of the object,
// whichever the line is.
func TestWhyOfALine(t *testing.T) {
	var events []observe.Event
	for _, r := range changedJob() {
		events = append(events, r.Event)
	}
	deleted := events[2].(*observe.Called)
	deleted.Wrote[0].ResourceVersion = "11"
	events = slices.Insert(events, 2, observe.Event(&observe.Called{
		Controller: "job-controller", Verb: "update", Subresource: "status", Object: brokenJob0, Status: 200, ResourceVersion: "10", Took: time.Millisecond,
		Wrote: []observe.Written{{Resource: "jobs.batch", Namespace: brokenJob0.Namespace, Name: brokenJob0.Name, ResourceVersion: "10"}},
	}))
	m := newPlainModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot(), records: recordsOf(events...)}}, 100, 30)
	for i, what := range []string{"created", "changed", "changed", "deleted"} {
		line := pressKeys(t, m, "tab", "G")
		for range 3 - i {
			line = pressKeys(t, line, "k")
		}
		told := pressWhy(t, line)
		requireWhy(t, told, what, "why ")
		if text := told.text.copied; what == "changed" && !strings.Contains(text, "  job-controller updated Job broken-0 status") {
			t.Errorf("line %d: w does not explain the last change:\n%s", i, text)
		}
		requireWhy(t, pressWhy(t, pressKeys(t, line, "enter")), what, "why ")
	}
}

// If the change of a line is not recorded, as older records were dropped, w explains the first one that is.
func TestWhyOfAnUnknownChange(t *testing.T) {
	m := newPlainModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot(), records: changedJob()[:2]}}, 100, 30)
	told := m.storyCmd(showWhy, target{object: &brokenJob0, what: trace.Deleted})().(storyResult)
	if told.err != nil || !strings.HasPrefix(told.text, "Why Job default/broken-0 was created ") {
		t.Errorf("%v, got\n%s", told.err, told.text)
	}
}

// A line asks for the change that its write has made, and any other one for the first recorded change.
func TestChangesOfLines(t *testing.T) {
	for name, tc := range map[string]struct {
		call observe.Called
		want trace.What
	}{
		"create":      {observe.Called{Verb: "create", Status: 201}, trace.Created},
		"applied":     {observe.Called{Verb: "patch", Status: 201}, trace.Created},
		"update":      {observe.Called{Verb: "update", Subresource: "status", Status: 200}, trace.Changed},
		"bound":       {observe.Called{Verb: "create", Subresource: "binding", Status: 201}, trace.Changed},
		"evicted":     {observe.Called{Verb: "create", Subresource: "eviction", Status: 201}, trace.Deleted},
		"collection":  {observe.Called{Verb: "deletecollection", Status: 200}, trace.Deleted},
		"refused":     {observe.Called{Verb: "update", Status: 403}, ""},
		"no answer":   {observe.Called{Verb: "delete"}, ""},
		"read":        {observe.Called{Verb: "get", Status: 200}, ""},
		"dry run":     {observe.Called{Verb: "patch", Status: 200, DryRun: true}, ""},
		"event":       {observe.Called{Verb: "create", Status: 201, Event: &observe.KubernetesEvent{Regarding: brokenJob0}}, ""},
		"restoration": {observe.Called{Verb: observe.VerbRestore, Status: 200}, ""},
	} {
		if got := whatOf(observe.Record{Event: &tc.call}); got != tc.want {
			t.Errorf("%s: asks for %q, want %q", name, got, tc.want)
		}
	}
	if got := whatOf(observe.Record{Event: &observe.Synced{}}); got != "" {
		t.Errorf("a sync asks for %q", got)
	}
}

// e on a sync shows the YAML of the object that its key stands for, on its line and in its full text.
func TestYAMLOfAKey(t *testing.T) {
	source := &inspectableSource{fixedSource: &fixedSource{snapshot: idleSnapshot(), records: recordsOf(
		&observe.Delivered{Controller: "job-controller", Change: observe.Listed, Object: brokenJob, Queues: []string{"job"}},
		&observe.Synced{Controller: "job-controller", Queue: "job", ID: 12, Key: "default/broken", KeyBasis: observe.BasisCall, Error: "no quota"},
	)}}
	for name, keys := range map[string][]string{"line": {"tab", "k", "j"}, "text": {"tab", "k", "j", "enter"}} {
		m := pressKeys(t, newPlainModel(t, Options{Source: source}, 100, 30), keys...)
		if got := m.View().Content; !strings.Contains(got, "e YAML") {
			t.Errorf("%s: the footer does not offer e:\n%s", name, got)
		}
		m = pressAndRun(t, m, "e")
		if s := m.currentScreen(); s.kind != objectScreen || s.object != brokenJob || !s.yaml || m.overlay != noOverlay {
			t.Errorf("%s: screen %d of %v, yaml %v, message %q", name, s.kind, s.object, s.yaml, m.message)
		}
	}
}
