package ui

import (
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// An operator may say by its UID only for which object it has evicted another one.
func TestWhyNamesTheObjectsOfUIDs(t *testing.T) {
	const first, second, other = "79a1f214-ba67-46a3-8b74-9549dbd62758", "b2f85368-1b6f-49b2-87bb-4eeec10c20bb", "b2f85368-1b6f-49b2-87bb-4eeec10c20bc"
	records := []observe.Record{
		{Seq: 1, Event: &observe.Called{Verb: "create", Status: 201, Object: observe.Object{Group: "batch", Resource: "jobs", Kind: "Job", Namespace: "default", Name: "hi1", UID: second}}},
		{Seq: 2, Event: &observe.Delivered{Change: observe.Added, Object: observe.Object{Group: "example.com", Resource: "workloads", Namespace: "default", Name: "job-hi1", UID: first}}},
		{Seq: 3, Event: &observe.Called{Verb: "create", Status: 403, Object: observe.Object{Resource: "pods", Kind: "Pod"}}},
	}
	const problem = "It is not ready: preempted for (UID: " + first + ", JobUID: " + second + "), not " + other + "."
	const want = "It is not ready: preempted for (UID: " + first + " (workloads job-hi1), JobUID: " + second + " (Job hi1)), not " + other + "."
	q := Why{About: observe.Object{Kind: "Job", Resource: "jobs", Group: "batch", Namespace: "default", Name: "low1"}, State: ObjectState{Exists: true, Problem: problem}}
	if _, _ = q.Chain(records, trace.Style{}); q.Options.Now != want {
		t.Errorf("got %q", q.Options.Now)
	}
}

// The name of the object is not repeated, and an object that was replaced by another one of the same name is not that one.
func TestUIDsOfNamedAndFormerObjects(t *testing.T) {
	const pod, former, claim = "79a1f214-ba67-46a3-8b74-9549dbd62758", "b2f85368-1b6f-49b2-87bb-4eeec10c20bb", "b2f85368-1b6f-49b2-87bb-4eeec10c20bc"
	of := func(resource, kind, name, uid string) observe.Record {
		return observe.Record{Event: &observe.Delivered{Change: observe.Added, Object: observe.Object{Resource: resource, Kind: kind, Namespace: "default", Name: name, UID: uid}}}
	}
	records := []observe.Record{of("pods", "Pod", "bad-1", pod), of("persistentvolumeclaims", "PersistentVolumeClaim", "d", former), of("persistentvolumeclaims", "PersistentVolumeClaim", "d", claim)}
	for text, want := range map[string]string{
		"back-off 10s restarting failed container=c pod=bad-1_dep(" + pod + ")": "back-off 10s restarting failed container=c pod=bad-1_dep(" + pod + ")",
		"bad-10 waits for " + pod:            "bad-10 waits for " + pod + " (Pod bad-1)",
		"volume pvc-" + former + " is bound": "volume pvc-" + former + " (a former PersistentVolumeClaim d) is bound",
		"volume pvc-" + claim + " is bound":  "volume pvc-" + claim + " (PersistentVolumeClaim d) is bound",
	} {
		if got := nameUIDs(text, records); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
