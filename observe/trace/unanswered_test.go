package trace

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// The user of an object asks for that, while the client waits for the answer to a write of what the object owns: another one that
// exists, or that it is to create.
func TestUnansweredWritesOfOwnedObjects(t *testing.T) {
	at := workStart.Add(28 * time.Second)
	owner := &observe.Object{Kind: "Site", Name: "shop", UID: "u1"}
	write := func(verb, name string, owner *observe.Object) observe.UnansweredWrite {
		return observe.UnansweredWrite{Controller: "operator.py (admin)", Verb: verb, Object: deployment(name), Since: at, Owner: owner}
	}
	now := workState(40, "running")
	now.Clients = []observe.Client{{Name: "operator.py (admin)", State: observe.StatePaused, Held: 3, Unanswered: []observe.UnansweredWrite{
		write("patch", "web", nil), write("create", "next", owner), write("patch", "other", nil),
	}}}
	creation := func(name string, owner *observe.Object) observe.Record {
		return observe.Record{Event: &observe.Called{Controller: "operator.py (admin)", Verb: "create", Status: 201, Object: deployment(name), Owner: owner}}
	}
	records := []observe.Record{creation("web", owner), creation("other", &observe.Object{Kind: "Site", Name: "other", UID: "u2"})}
	const text = "operator.py (admin) has been waiting since 12:00:28.000 (12.0 s) for the answer to its request to %s: the client is paused and its writes are held."
	want := []string{fmt.Sprintf(text, "patch Deployment default/web"), fmt.Sprintf(text, "create Deployment default/next")}
	if got := Working(Options{State: now}, records, workSite("shop"), Style{}); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// A write that waits in a webhook, or because its client is paused, is not recorded before it is answered.
func TestWritesWithoutAnAnswer(t *testing.T) {
	now := workState(40, "running")
	at := workStart.Add(28 * time.Second)
	now.Clients = []observe.Client{
		{Name: "kubectl (admin)", Unanswered: []observe.UnansweredWrite{{Controller: "kubectl (admin)", Verb: "create", Object: workSite("a"), Since: at}}},
		{Name: "operator (admin)", State: observe.StatePaused, Held: 1, Unanswered: []observe.UnansweredWrite{{Controller: "operator/site", Verb: "update", Subresource: "status", Object: workSite("b"), Since: at}}},
	}
	site := func(name string) []observe.UnansweredWrite {
		return []observe.UnansweredWrite{{Controller: "operator/site", Verb: "update", Object: workSite(name), Since: at}}
	}
	now.Clients = append(now.Clients, observe.Client{Name: "other (admin)", State: observe.StatePaused, Unanswered: site("waits")}, observe.Client{Name: "third (admin)", State: observe.StateRunning, Held: 1, Unanswered: site("held")})
	now.Clients[3].Unanswered[0].Controller = "third/site"
	now.Controllers = append(now.Controllers, observe.Controller{Name: "third/site", State: observe.StatePaused, Held: 1})
	for name, want := range map[string][]string{
		"a":     {"kubectl (admin) has been waiting since 12:00:28.000 (12.0 s) for the answer to its request to create Site default/a."},
		"b":     {"operator/site has been waiting since 12:00:28.000 (12.0 s) for the answer to its request to update Site default/b status: the client is paused and its writes are held."},
		"waits": {"operator/site has been waiting since 12:00:28.000 (12.0 s) for the answer to its request to update Site default/waits."},
		"held":  {"third/site has been waiting since 12:00:28.000 (12.0 s) for the answer to its request to update Site default/held: the controller is paused and its writes are held."},
		"c":     nil,
	} {
		about := workSite(name)
		if got := Working(Options{State: now}, nil, about, Style{}); !slices.Equal(got, want) || IsAwaited(now, about) != (want != nil) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
