package trace

import (
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Only a client says by its watch what a write follows from: a call in this process that names an event has another rule.
func TestOnlyWritesOfClientsFollowFromTheirWatch(t *testing.T) {
	seen := observe.Delivered{Controller: "operator", Change: observe.Added, Object: deployment("web")}
	for _, client := range []*observe.Caller{nil, {User: "admin"}} {
		call := observe.Called{Controller: "operator", Verb: "create", Object: observe.Object{Resource: "pods", Kind: "Pod", Name: "a"}, Status: 201, Client: client, Cause: 1}
		g := newGraph([]observe.Record{{Seq: 1, Event: &seen}, {Seq: 2, Event: &call}}, observe.Object{}, Options{})
		if linked := g.calls[0].causedBy != nil; linked != (client != nil) {
			t.Errorf("client %v: linked: %t", client, linked)
		}
	}
}
