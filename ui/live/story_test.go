package live

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
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
		told := m.storyCmd(c.key, &brokenJob0, nil)().(storyResult)
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
	told := m.storyCmd(showWhy, &brokenJob0, nil)().(storyResult)
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
		story := m.storyCmd(showTrace, &webPod, nil)()
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
	story := m.storyCmd(showTrace, &webPod, nil)()
	m.generation++
	if m = sendMsgs(t, m, story); m.overlay != noOverlay || m.message != "" {
		t.Errorf("overlay %d, message %q", m.overlay, m.message)
	}
}
