package trace

import (
	"slices"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A write that waits in a webhook, or because its client is paused, is not recorded before it is answered.
func TestWritesWithoutAnAnswer(t *testing.T) {
	now := workState(40, "running")
	at := workStart.Add(28 * time.Second)
	now.Clients = []observe.Client{
		{Name: "kubectl (admin)", Unanswered: []observe.UnansweredWrite{{Controller: "kubectl (admin)", Verb: "create", Object: workSite("a"), Since: at}}},
		{Name: "operator (admin)", State: observe.StatePaused, Unanswered: []observe.UnansweredWrite{{Controller: "operator/site", Verb: "update", Subresource: "status", Object: workSite("b"), Since: at}}},
	}
	for name, want := range map[string][]string{
		"a": {"kubectl (admin) has been waiting since 12:00:28.000 (12.0 s) for the answer to its request to create Site default/a."},
		"b": {"operator/site has been waiting since 12:00:28.000 (12.0 s) for the answer to its request to update Site default/b status: the client is paused and its writes are held."},
		"c": nil,
	} {
		about := workSite(name)
		if got := Working(now, nil, about, Style{}); !slices.Equal(got, want) || IsAwaited(now, about) != (want != nil) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
