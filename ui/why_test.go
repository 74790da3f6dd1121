package ui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// An object that is not healthy may wait for a controller that a user has paused or stopped.
func TestWhyNamesInterventions(t *testing.T) {
	now := observe.Snapshot{
		Process: observe.Process{State: observe.Ready},
		Controllers: []observe.Controller{
			{Name: "replicaset-controller", State: "paused", Reason: "its writes are held", Held: 3},
			{Name: "namespace-controller", State: "paused", Reason: "its writes are held"},
			{Name: "cronjob-controller", State: "paused", Reason: "its writes are held, each call waits 2s"},
			{Name: "deployment-controller", State: "off", Reason: observe.ReasonStopped},
			{Name: "job-controller", State: "running"},
			{Name: "operator/site", State: "paused", Reason: "its writes are held"},
		},
	}
	for problem, want := range map[string][]string{
		"Available: 0/1": {"replicaset-controller is paused: 3 writes are held.", "cronjob-controller is paused: its writes are held, each call waits 2s.", "deployment-controller is stopped.", "operator/site is paused: its writes are held."},
		"":               nil,
	} {
		q := Why{About: observe.Object{Kind: "Deployment", Name: "web"}, Options: trace.Options{State: now}, State: ObjectState{Exists: true, Problem: problem}}
		_, _ = q.Chain(nil, trace.Style{}) // nothing is recorded
		if !slices.Equal(q.Options.Working, want) {
			t.Errorf("with the problem %q: got %q, want %q", problem, q.Options.Working, want)
		}
	}
}

// A Node does not wait for controllers that have nothing to do with Nodes.
func TestWhyOfANodeNamesItsControllers(t *testing.T) {
	off := func(name string, watches []string, writes ...observe.WriteCount) observe.Controller {
		return observe.Controller{Name: name, State: observe.StateOff, Reason: observe.ReasonStopped, Watches: watches, Writes: writes}
	}
	now := observe.Snapshot{
		Process: observe.Process{State: observe.Ready},
		Controllers: []observe.Controller{
			off("deployment-controller", []string{"deployments.apps", "pods"}, observe.WriteCount{Verb: "update", Resource: "deployments.apps/status", Count: 1}),
			off("node-lifecycle-controller", []string{"nodes", "pods"}),
			off("cloud-node-controller", []string{"services"}, observe.WriteCount{Verb: "patch", Resource: "nodes/status", Count: 1}),
			off("unknown-controller", nil),
		},
		Clients: []observe.Client{{Name: "operator (admin)", State: "paused"}},
	}
	const related = "node-lifecycle-controller is stopped."
	for resource, want := range map[string][]string{
		"nodes": {related, "cloud-node-controller is stopped.", "unknown-controller is stopped.", "operator (admin) is paused."},
		"pods":  {"deployment-controller is stopped.", related, "cloud-node-controller is stopped.", "unknown-controller is stopped.", "operator (admin) is paused."},
	} {
		q := Why{About: observe.Object{Resource: resource, Name: "one"}, Options: trace.Options{State: now}, State: ObjectState{Exists: true, Problem: "It is not ready."}}
		_, _ = q.Chain(nil, trace.Style{}) // nothing is recorded
		if !slices.Equal(q.Options.Working, want) {
			t.Errorf("%s: got %q, want %q", resource, q.Options.Working, want)
		}
	}
}

// That its node was failed is said before what else may be why an object is not healthy.
func TestWhyNamesAFailedNode(t *testing.T) {
	list := []control.Node{{Name: "node-1", Failed: true}, {Name: "node-2", Ready: "Unknown"}}
	command := func(s string) string { return "ctrlplane " + s }
	if got := DescribeFailedNode(list, "node-2", command) + DescribeFailedNode(list, "", command); got != "" {
		t.Errorf("of nodes that were not failed: %q", got)
	}
	now := observe.Snapshot{Controllers: []observe.Controller{{Name: "node-lifecycle-controller", State: observe.StatePaused}}}
	for problem, want := range map[string][]string{
		"It is not ready.": {`node-1 was failed by "nodes fail": to undo it: ctrlplane nodes recover node-1.`, "node-lifecycle-controller is paused."},
		"":                 nil,
	} {
		state := ObjectState{Exists: true, Problem: problem, FailedNode: DescribeFailedNode(list, "node-1", command)}
		q := Why{About: observe.Object{Resource: "nodes", Kind: "Node", Name: "node-1"}, Options: trace.Options{State: now}, State: state}
		_, _ = q.Chain(nil, trace.Style{}) // nothing is recorded
		if !slices.Equal(q.Options.Working, want) {
			t.Errorf("with the problem %q: got %q, want %q", problem, q.Options.Working, want)
		}
	}
}

// That an object was not changed after its creation answers what led to its last change.
func TestWhyAnswersThatAnObjectWasNotChanged(t *testing.T) {
	about, at := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "a"}, time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	created := &observe.Called{Controller: "kubectl (admin)", Verb: "create", Object: about, Status: 201, Began: at, Client: &observe.Caller{User: "admin"}}
	for what, want := range map[trace.What]string{
		trace.Changed: "Pod default/a was not changed after kubectl (admin) created it at 12:00:00.000. \"ctrlplane trace pod/a\" shows what is recorded.\n",
		trace.Deleted: "",
	} {
		q := Why{About: about, Options: trace.Options{What: what}, State: ObjectState{Exists: true}, Trace: `"ctrlplane trace pod/a"`}
		var out strings.Builder
		err := q.Write(&out, []observe.Record{{Seq: 1, Time: at, Event: created}}, trace.Text, trace.Style{Width: 200})
		if out.String() != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v", what, out.String(), err)
		}
	}
}

// Nothing is recorded of an object whose creation waits in a webhook. That is what is said about it.
func TestWhyOfAnObjectThatIsBeingCreated(t *testing.T) {
	about := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"}
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	now := observe.Snapshot{Time: at.Add(4 * time.Second), Clients: []observe.Client{{
		Name: "kubectl (admin)", Unanswered: []observe.UnansweredWrite{{Controller: "kubectl (admin)", Verb: "create", Object: about, Since: at}},
	}}}
	q := Why{About: about, Options: trace.Options{State: now}}
	var text strings.Builder
	if err := q.Write(&text, nil, trace.Text, trace.Style{Width: 200}); err != nil {
		t.Fatal(err)
	}
	if want := "kubectl (admin) has been waiting since 12:00:00.000 (4.0 s) for the answer to its request to create Deployment default/web.\n"; text.String() != want {
		t.Errorf("got %q, want %q", text.String(), want)
	}
	if _, err := q.Chain(nil, trace.Style{}); err == nil || err.Error()+".\n" != "nothing is recorded of it yet: "+text.String() {
		t.Errorf("got %v", err) // on the page, and with -o json
	}
	q.About.Name = "other"
	if err := q.Write(&text, nil, trace.Text, trace.Style{}); err == nil {
		t.Error("an object of which nothing is known is explained")
	}
}
