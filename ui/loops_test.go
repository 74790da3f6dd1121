package ui

import (
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Looking for hot loops reads thousands of records, so that what is always busy does not count.
func TestIsRepeating(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    observe.Snapshot
		want bool
	}{
		{"nothing", observe.Snapshot{}, false},
		{"a controller", observe.Snapshot{Queues: []observe.Queue{{Controller: "deployment-controller", Name: "deployment", AddRate: 2}}}, true},
		{"a slow controller", observe.Snapshot{Queues: []observe.Queue{{Controller: "deployment-controller", Name: "deployment", AddRate: 1.9}}}, false},
		{"a client", observe.Snapshot{Clients: []observe.Client{{Name: "operator (a)", RequestRate: 2}}}, true},
		{"the API server", observe.Snapshot{Queues: []observe.Queue{{Controller: "kube-apiserver", Name: "open_api_v3_aggregation_controller", AddRate: 3}}}, false},
		{"definitions", observe.Snapshot{Queues: []observe.Queue{{Controller: "kube-apiserver", Name: "crd_naming_condition_controller", AddRate: 3}}}, true},
		{"events for the garbage collector", observe.Snapshot{Queues: []observe.Queue{{Controller: "garbage-collector-controller", Name: "garbage_collector_graph_changes", AddRate: 50}}}, false},
		{"objects for the garbage collector", observe.Snapshot{Queues: []observe.Queue{{Controller: "garbage-collector-controller", Name: "garbage_collector_attempt_to_delete", AddRate: 3}}}, true},
	} {
		if got := IsRepeating(tt.s); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
