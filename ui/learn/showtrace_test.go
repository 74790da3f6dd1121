package learn

import (
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// A recent trace begins with the last change of the object by a client, not with what the reader tried before. It shows
// that change, even if nothing followed from it.
func TestStartOfARecentTrace(t *testing.T) {
	begin := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	web := observe.Object{Group: "apps", Resource: "deployments", Namespace: "lesson-1", Name: "web"}
	pod := observe.Object{Resource: "pods", Namespace: "lesson-1", Name: "web-1"}
	reader := &observe.Caller{User: "kubernetes-admin"}
	wrote := func(version string) []observe.Written {
		return []observe.Written{{Resource: "deployments.apps", Namespace: "lesson-1", Name: "web", ResourceVersion: version}}
	}
	calls := []*observe.Called{
		{Verb: "create", Object: web, Status: 201, Client: reader, Wrote: wrote("1")},
		{Verb: "delete", Object: pod, Status: 200, Client: reader},
		{Verb: "update", Object: web, Subresource: "status", Status: 200, Controller: "deployment-controller", Wrote: wrote("2")},
		{Verb: "patch", Object: web, Subresource: "scale", Status: 200, Client: reader, Wrote: wrote("3")},
		{Verb: "update", Object: web, Subresource: "status", Status: 200, Controller: "deployment-controller", Wrote: wrote("4")},
		{Verb: "patch", Object: web, Status: 422, Client: reader},
		{Verb: "patch", Object: web, Subresource: "scale", Status: 200, Client: reader}, // changes nothing
		{Verb: "get", Object: web, Status: 200, Client: reader},
	}
	var records []observe.Record
	for i, c := range calls {
		c.Began, c.Took = begin.Add(time.Duration(i+1)*time.Second), 100*time.Millisecond
		// The time of a record is read after the length of its call.
		records = append(records, observe.Record{Seq: uint64(i + 1), Time: c.Began.Add(c.Took + 50), Event: c})
	}
	r := &runner{probe: &probe{partStart: 1, before: observe.Snapshot{Time: begin.Add(1500 * time.Millisecond)}}}
	for n, want := range map[int]time.Duration{8: 4 * time.Second, 3: 1500 * time.Millisecond} {
		if got := r.recentStart(records[:n], web).Sub(begin); got != want {
			t.Errorf("of %d records: %v, want %v", n, got, want)
		}
	}
	tree, err := trace.Build(records, web, trace.Options{Since: r.recentStart(records, web)})
	if err != nil || len(tree.Roots) == 0 || tree.Roots[0].Verb != "patch" || tree.Roots[0].ID != "r4" {
		t.Errorf("the change is not shown: %v, %v", tree, err)
	}
}
