package ui

import (
	"slices"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// An object that is not healthy may wait for a controller that a user has paused or stopped.
func TestWhyNamesInterventions(t *testing.T) {
	now := observe.Snapshot{
		Process: observe.Process{State: observe.Ready},
		Controllers: []observe.Controller{
			{Name: "replicaset-controller", State: "paused"},
			{Name: "deployment-controller", State: "off", Reason: observe.ReasonStopped},
			{Name: "job-controller", State: "running"},
		},
	}
	for problem, want := range map[string][]string{
		"Available: 0/1": {"replicaset-controller is paused.", "deployment-controller is stopped."},
		"":               nil,
	} {
		q := Why{About: observe.Object{Kind: "Deployment", Name: "web"}, Options: trace.Options{State: now}, State: ObjectState{Exists: true, Problem: problem}}
		_, _ = q.Chain(nil, trace.Style{}) // nothing is recorded
		if !slices.Equal(q.Options.Working, want) {
			t.Errorf("with the problem %q: got %q, want %q", problem, q.Options.Working, want)
		}
	}
}
