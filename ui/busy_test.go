package ui

import (
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Pods that cannot be scheduled wait for a change elsewhere: they keep nothing busy.
func TestBusyDoesNotNameKeysThatWaitForAChange(t *testing.T) {
	s := observe.Snapshot{Queues: []observe.Queue{{Controller: "kube-scheduler", Name: "unschedulable", Depth: 2, Parked: true}}}
	s.Process.Busy = []string{"replicaset-controller"}
	if got, want := summarizeActivity(s), "busy: replicaset-controller"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Queues = append(s.Queues, observe.Queue{Controller: "replicaset-controller", Name: "replicaset", Depth: 1})
	if got, want := summarizeActivity(s), "busy: replicaset (depth 1, 0 in flight)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Metrics of a process may have no valid value: what is unknown is neither settled nor busy.
func TestUnknownKeysAreSaid(t *testing.T) {
	s := observe.Snapshot{Queues: []observe.Queue{{Name: "known"}, {Name: "widget", Depth: -1}, {Name: "gadget", InFlight: -1}, {Name: "other", Depth: -1, Outside: true}}}
	if got, want := summarizeActivity(s), "not known to be settled: the keys of widget, gadget are unknown"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Queues[0].Depth, s.Process.Busy = 1, []string{"known"}
	if got, want := summarizeActivity(s), "busy: known (depth 1, 0 in flight)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
