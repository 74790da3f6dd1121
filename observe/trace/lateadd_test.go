package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A goroutine that the handler of an event has started adds a key, at once or when something else has happened, such as the
// end of a container.
func TestLateAddsAreLikely(t *testing.T) {
	for after, want := range map[time.Duration]Certainty{10 * time.Millisecond: Certain, 5 * time.Second: Likely} {
		at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
		event := &observe.Delivered{Controller: "simulated-kubelet", Change: observe.Added, Object: pod("a"), ResourceVersion: "7", Queues: []string{"pods", "pods"}, Adds: []uint64{1, 2}}
		sync := &observe.Synced{Controller: "simulated-kubelet", Queue: "pods", Key: "default/a", KeyBasis: observe.BasisQueue, ID: 3, Add: 2, Sure: true, Cause: 1}
		call := &observe.Called{Controller: "simulated-kubelet", Verb: "patch", Subresource: "status", Object: pod("a"), Status: 200, ResourceVersion: "8", Sync: 3, Began: at.Add(after),
			Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: "a", ResourceVersion: "8"}}}
		records := []observe.Record{{Seq: 1, Time: at, Event: event}, {Seq: 2, Time: at.Add(after), Event: call}, {Seq: 3, Time: at.Add(after), Event: sync}}
		chain, err := Why(records, pod("a"), Options{What: Changed})
		if err != nil {
			t.Fatal(err)
		}
		if len(chain.Links) < 3 || chain.Links[1].Cause == nil || chain.Links[1].Cause.Certainty != want {
			t.Errorf("after %v:\n%s", after, writeString(t, chain, Text, Style{}))
		}
	}
}

// What a sync works for may have come while its key waited for the delay of an earlier event.
func TestDelaysOfOtherEventsAreShown(t *testing.T) {
	tree, err := Build(loadJournal(t, "job"), observe.Object{Group: "batch", Resource: "jobs", Namespace: "default", Name: "flaky"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := writeString(t, tree, Text, Style{})
	for _, want := range []string{"job-controller saw it updated and, 508 ms later, synced flaky in ", "job-controller saw it updated and, 1.0 s later, synced flaky in "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}
