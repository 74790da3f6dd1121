package trace

import (
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// A user scales the ReplicaSet of a Deployment, and deployment-controller takes that back: the sync that creates Pods again was
// queued by the deletion of another one, which the controller had made itself, but it is for the Deployment.
func TestSpecChangesThatAreTakenBack(t *testing.T) {
	rs, old, created := observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "default", Name: "web-1"}, pod("web-1-a"), pod("web-1-b")
	wroteRS := func(version string) []observe.Written {
		return []observe.Written{{Resource: "replicasets.apps", Namespace: "default", Name: "web-1", ResourceVersion: version}}
	}
	const replicaSet, deploymentSync, deleting, creating = "replicaset-controller", 1, 2, 3
	for name, tc := range map[string]struct {
		subresource string
		early       bool   // the change is stored before the controller deletes the Pod, but after the sync that does so has begun
		late        bool   // the handler has the event after the sync has begun
		before      string // what the sync before did, if not to delete the Pod
		want        string
	}{
		"spec":                           {want: controllernames.Deployment},
		"spec, late":                     {late: true, want: controllernames.Deployment},
		"only a status":                  {subresource: "status", want: replicaSet},
		"early":                          {early: true, want: controllernames.Deployment},
		"only a status, early":           {subresource: "status", early: true, want: replicaSet},
		"early, and created Pods before": {early: true, before: "create", want: replicaSet},
	} {
		at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
		var records []observe.Record
		add := func(e observe.Event) {
			at = at.Add(10 * time.Millisecond)
			switch e := e.(type) {
			case *observe.Called:
				e.Began = at
			case *observe.Synced:
				e.Took, e.Waited = max(e.Took, 15*time.Millisecond), 40*time.Millisecond
			}
			records = append(records, observe.Record{Seq: uint64(len(records) + 1), Time: at, Event: e})
		}
		change := func() {
			add(&observe.Called{Controller: controllernames.Deployment, Verb: "update", Subresource: tc.subresource, Object: rs, Status: 200, ResourceVersion: "8", Sync: deploymentSync, Wrote: wroteRS("8")})
		}
		event := &observe.Delivered{Controller: replicaSet, Change: observe.Updated, Object: rs, ResourceVersion: "8"}
		if tc.early {
			change()
			add(event)
		}
		if tc.before == "create" {
			other := pod("web-1-c")
			add(&observe.Called{Controller: replicaSet, Verb: "create", Object: other, Status: 201, ResourceVersion: "6", Sync: deleting,
				Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: other.Name, ResourceVersion: "6"}}})
		}
		add(&observe.Called{Controller: replicaSet, Verb: "delete", Object: old, Status: 200, ResourceVersion: "7", Sync: deleting,
			Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: old.Name, ResourceVersion: "7"}}})
		add(&observe.Delivered{Controller: replicaSet, Change: observe.Updated, Deleting: true, Object: old, ResourceVersion: "7", Queues: []string{"replicaset"}, Adds: []uint64{5}})
		sawDeletion := uint64(len(records))
		add(&observe.Synced{Controller: replicaSet, Queue: "replicaset", Key: "default/web-1", KeyBasis: observe.BasisQueue, ID: deleting, Add: 4, LastAdd: 4, Sure: true, Took: 55 * time.Millisecond})
		if !tc.early {
			change()
		}
		if !tc.early && !tc.late {
			add(event)
		}
		add(&observe.Called{Controller: replicaSet, Verb: "create", Object: created, Status: 201, ResourceVersion: "9", Sync: creating,
			Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: created.Name, ResourceVersion: "9"}}})
		if tc.late {
			add(event)
		}
		add(&observe.Synced{Controller: replicaSet, Queue: "replicaset", Key: "default/web-1", KeyBasis: observe.BasisQueue, ID: creating, Add: 5, Sure: true, Cause: sawDeletion})
		chain, err := Why(records, created, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if first := chain.Links[len(chain.Links)-2]; len(chain.Links) < 4 || chain.Links[3].Controller != tc.want {
			t.Errorf("%s: %s\n%s", name, labelOf(first), writeString(t, chain, Text, Style{}))
		}
	}
}
