package trace

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A write of a client that acts as another user names that user.
func TestImpersonation(t *testing.T) {
	records := clientCalls(observe.Called{Verb: "create", Status: 201, ResourceVersion: "7"})
	call := records[0].Event.(*observe.Called)
	call.Client = &observe.Caller{User: "admin", Impersonates: "alice"}
	chain, err := Why(records, call.Object, Options{})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Build(records, call.Object, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "kubectl (admin) as alice created Deployment web"
	for name, text := range map[string]string{"why": writeString(t, chain, Text, Style{}), "trace": writeString(t, tree, Text, Style{})} {
		if strings.Count(text, want) != 2 {
			t.Errorf("%s: not twice %q in:\n%s", name, want, text)
		}
	}
}
