package learn

import (
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A recent trace begins with the last change of the object by a client, not with what the reader tried before.
func TestStartOfARecentTrace(t *testing.T) {
	begin := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	web := observe.Object{Group: "apps", Resource: "deployments", Namespace: "lesson-1", Name: "web"}
	pod := observe.Object{Resource: "pods", Namespace: "lesson-1", Name: "web-1"}
	reader := &observe.Caller{User: "kubernetes-admin"}
	calls := []*observe.Called{
		{Verb: "create", Object: web, Status: 201, Client: reader},
		{Verb: "delete", Object: pod, Status: 200, Client: reader},
		{Verb: "update", Object: web, Subresource: "status", Status: 200, Controller: "deployment-controller"},
		{Verb: "patch", Object: web, Subresource: "scale", Status: 200, Client: reader},
		{Verb: "update", Object: web, Subresource: "status", Status: 200, Controller: "deployment-controller"},
		{Verb: "patch", Object: web, Status: 422, Client: reader},
		{Verb: "get", Object: web, Status: 200, Client: reader},
	}
	var records []observe.Record
	for i, c := range calls {
		records = append(records, observe.Record{Seq: uint64(i + 1), Time: begin.Add(time.Duration(i+1) * time.Second), Event: c})
	}
	r := &runner{probe: &probe{partStart: 1, before: observe.Snapshot{Time: begin.Add(1500 * time.Millisecond)}}}
	for n, want := range map[int]time.Duration{7: 4 * time.Second, 3: 1500 * time.Millisecond} {
		if got := r.recentStart(records[:n], web).Sub(begin); got != want {
			t.Errorf("of %d records: %v, want %v", n, got, want)
		}
	}
}
