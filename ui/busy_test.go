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
