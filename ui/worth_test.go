package ui

import (
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestWorthOf(t *testing.T) {
	node := observe.Object{Resource: "nodes", Name: "node-1"}
	lease := observe.Object{Group: "coordination.k8s.io", Resource: "leases", Name: "node-1"}
	event := observe.Object{Resource: "events", Name: "web-1.1"}
	for name, tc := range map[string]struct {
		e    observe.Event
		want Worth
	}{
		"step of a start":           {&observe.BootStep{Step: "etcd"}, Line},
		"state":                     {&observe.ControllerChanged{State: "off"}, Line},
		"write":                     {&observe.Called{Verb: "create", Object: pod("a"), Status: 201}, Line},
		"failed write":              {&observe.Called{Verb: "create", Object: pod("a"), Status: 403}, Line},
		"late deletion":             {&observe.Called{Verb: "delete", Object: pod("a"), Status: 404}, Line},
		"read":                      {&observe.Called{Verb: "get", Object: pod("a"), Status: 200}, Hidden},
		"failed read":               {&observe.Called{Verb: "list", Object: pod(""), Status: 403}, Line},
		"absence":                   {&observe.Called{Verb: "get", Object: pod("a"), Status: 404}, Detail},
		"injected absence":          {&observe.Called{Verb: "get", Object: pod("a"), Status: 404, Error: observe.InjectedFault}, Line},
		"Lease":                     {&observe.Called{Verb: "update", Object: lease, Status: 200}, Detail},
		"failed Lease":              {&observe.Called{Verb: "update", Object: lease, Status: 409, Conflict: true}, Detail},
		"Event":                     {&observe.Called{Verb: "create", Object: event, Status: 201, Event: &observe.KubernetesEvent{Type: "Normal"}}, Detail},
		"warning Event":             {&observe.Called{Verb: "create", Object: event, Status: 201, Event: &observe.KubernetesEvent{Type: "Warning"}}, Line},
		"status of a Node":          {&observe.Called{Controller: "simulated-kubelet", Verb: "patch", Object: node, Subresource: "status", Status: 200}, Detail},
		"failed status of a Node":   {&observe.Called{Controller: "simulated-kubelet", Verb: "patch", Object: node, Subresource: "status", Status: 500}, Line},
		"status by another program": {&observe.Called{Controller: "node-lifecycle-controller", Verb: "update", Object: node, Subresource: "status", Status: 200}, Line},
		"sync":                      {&observe.Synced{}, Detail},
		"failed sync":               {&observe.Synced{Error: "no"}, Line},
		"info":                      {&observe.Logged{Level: 0}, Detail},
		"warning":                   {&observe.Logged{Level: 4, Sync: 7}, Line},
		"error":                     {&observe.Logged{Level: 8}, Line},
		"error of a sync":           {&observe.Logged{Level: 8, Sync: 7}, Detail},
		"a restore":                 {&observe.Logged{Controller: observe.Own}, Line},
		"event":                     {&observe.Delivered{Change: observe.Added}, Detail},
		"resync":                    {&observe.Delivered{Change: observe.Resynced}, Hidden},
		"queue":                     {&observe.QueueChanged{}, Hidden},
	} {
		if got := WorthOf(tc.e); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
		notable := observe.Query{Notable: true, Reads: true}
		if r := (&observe.Record{Seq: 1, Event: tc.e}); tc.want == Line && !notable.Match(r) {
			t.Errorf("%s: the records that are kept longest lack it", name)
		}
	}
}
