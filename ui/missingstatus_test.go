package ui

import (
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// That an object has no status is said if no program could write it, or if one that could was changed manually.
func TestWhySaysThatNoClientWritesTheStatus(t *testing.T) {
	const resource = "sites.example.com"
	watches := []observe.ClientWatch{{Resource: "pods"}, {Resource: resource}}
	for name, tc := range map[string]struct {
		clients []observe.Client
		want    string
	}{
		"no operator":           {[]observe.Client{{Name: "kubectl (admin)", Watches: watches}, {Name: "ctrlplane (admin)", Watches: watches}, {Name: "other (admin)", Watches: watches[:1]}}, "It has no status yet, and no client watches sites.example.com."},
		"an operator":           {[]observe.Client{{Name: "operator (admin)", Watches: watches}}, ""},
		"an operator is paused": {[]observe.Client{{Name: "operator (admin)", State: "paused", Reason: "its writes are held", Watches: watches}}, "It has no status yet."},
		"another one is paused": {[]observe.Client{{Name: "operator (admin)", Watches: watches}, {Name: "other (admin)", Reason: "its writes are held"}}, ""},
	} {
		q := Why{About: observe.Object{Kind: "Site", Resource: "sites", Group: "example.com", Name: "a"}, Options: trace.Options{State: observe.Snapshot{Clients: tc.clients}}, State: ObjectState{Exists: true, Unreported: resource}}
		_, _ = q.Chain(nil, trace.Style{}) // nothing is recorded
		if q.Options.Now != tc.want {
			t.Errorf("%s: %q", name, q.Options.Now)
		}
	}
}
