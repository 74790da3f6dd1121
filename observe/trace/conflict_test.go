package trace

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A conflict names who had modified the object meanwhile.
func TestConflictsNameWhoHadModifiedTheObject(t *testing.T) {
	records := clientCalls(
		observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)},
		observe.Called{Verb: "patch", ResourceVersion: "8", Wrote: deploymentWritten("8", false)},
		observe.Called{Verb: "update", Subresource: "status", Status: 409, Conflict: true, Error: "modified"},
		observe.Called{Verb: "update", Subresource: "status", ResourceVersion: "9", Wrote: deploymentWritten("9", false)},
		observe.Called{Verb: "update", Subresource: "status", Status: 409, Conflict: true, Error: "modified"},
	)
	for _, r := range records[2:] {
		r.Event.(*observe.Called).Controller = "shop-operator"
	}
	tree, err := Build(records, deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := writeString(t, tree, Text, Style{})
	for _, want := range []string{
		"conflict: kubectl (admin) had modified the object to version 8\n",
		"conflict: it had itself modified the object to version 9\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

// Some kinds can be created with an update: an update of what was deleted is a conflict then.
func TestConflictsNameWhoHadDeletedTheObject(t *testing.T) {
	records := clientCalls(
		observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)},
		observe.Called{Verb: "delete", Wrote: deploymentWritten("9", true)},
		observe.Called{Verb: "update", Status: 409, Conflict: true, Error: "modified"},
	)
	records[2].Event.(*observe.Called).Controller = "shop-operator"
	tree, err := Build(records, deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want, text := "conflict: kubectl (admin) had deleted the object\n", writeString(t, tree, Text, Style{}); !strings.Contains(text, want) {
		t.Errorf("no %q in:\n%s", want, text)
	}
}
