package trace

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// TestApplyThatCreates: a patch of server-side apply that is answered with 201 has created
// its object; one that is answered with 200 has changed it.
func TestApplyThatCreates(t *testing.T) {
	for status, want := range map[int]What{http.StatusCreated: Created, http.StatusOK: Changed} {
		about := deployment("web")
		records := []observe.Record{{Seq: 1, Event: &observe.Called{
			Controller: "ctrlplane", Verb: "patch", Object: about, Status: status, ResourceVersion: "7", Client: &observe.Caller{},
		}}}
		chain, err := Why(records, about, Options{})
		if err != nil {
			t.Fatal(err)
		}
		text := writeString(t, chain, Text, Style{Width: 100})
		verb := map[What]string{Created: "created", Changed: "patched"}[want]
		if chain.What != want || !strings.Contains(text, verb+" Deployment web") {
			t.Errorf("%d: %s, want %s:\n%s", status, chain.What, want, text)
		}
	}
}

// An apply that was to create its object has failed to create it, and the sentence names the field manager as the line does.
func TestApplyThatFailsToCreate(t *testing.T) {
	for toCreate, want := range map[bool]string{true: "failed to create Deployment web as field manager argo: 403", false: "failed to patch Deployment web as field manager argo: 403"} {
		about := deployment("web")
		records := clientCalls(observe.Called{Verb: "patch", Status: http.StatusForbidden, Error: "exceeded quota", Applied: true, FieldManager: "argo", ToCreate: toCreate})
		chain, err := Why(records, about, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if text := writeString(t, chain, Text, Style{Width: 200}); chain.What != Refused || strings.Count(text, want) != 2 {
			t.Errorf("%s, want %q twice:\n%s", chain.What, want, text)
		}
	}
}
