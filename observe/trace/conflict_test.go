package trace

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage"
	storeerrors "k8s.io/apiserver/pkg/storage/errors"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
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

// Why of an object tells of a user's write that had a conflict, and who had modified the object; unless the user has succeeded since.
func TestWhyTellsOfTheConflictOfAUser(t *testing.T) {
	created := observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}
	other := observe.Called{Verb: "patch", ResourceVersion: "8", Wrote: deploymentWritten("8", false)}
	conflict := observe.Called{Verb: "update", Status: 409, Conflict: true, Error: "modified"}
	again := observe.Called{Verb: "update", ResourceVersion: "9", Wrote: deploymentWritten("9", false)}
	const told = "kubectl (admin) failed to update Deployment web: conflict: shop-operator had modified the object to version 8."
	for name, tc := range map[string]struct {
		calls  []observe.Called
		caused bool // the write that had a conflict has a cause, as one of an operator
		want   bool
	}{
		"a conflict":        {[]observe.Called{created, other, conflict}, false, true},
		"of an operator":    {[]observe.Called{created, other, conflict}, true, false},
		"and then succeeds": {[]observe.Called{created, other, conflict, again}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			records := clientCalls(tc.calls...)
			records[1].Event.(*observe.Called).Controller = "shop-operator"
			if tc.caused {
				records[2].Event.(*observe.Called).Sync = 12
			}
			chain, err := Why(records, deployment("web"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if text := writeString(t, chain, Text, Style{}); strings.Contains(text, told) != tc.want {
				t.Errorf("got\n%s", text)
			}
		})
	}
}

// The last recorded write is not blamed for a conflict if another one may have been stored after it.
func TestConflictsBlameNoWriteThatWasOvertaken(t *testing.T) {
	created := observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}
	conflict := observe.Called{Verb: "update", Subresource: "status", Status: 409, Conflict: true, Error: "modified"}
	update := func(version string) observe.Called {
		return observe.Called{Verb: "update", Subresource: "status", ResourceVersion: version, Wrote: deploymentWritten(version, false)}
	}
	// seen is an event of a version, some time after the begin of a call.
	seen := func(records []observe.Record, version string, call int, after time.Duration) []observe.Record {
		at := records[call].Event.(*observe.Called).Began.Add(after)
		return append(records, observe.Record{Seq: 100, Time: at, Event: &observe.Delivered{Controller: "deployment-controller", Change: observe.Updated, Object: deployment("web"), ResourceVersion: version}})
	}
	const unknown, byCreator = "conflict: the object has been modified", "conflict: kubectl (admin) had modified the object to version 7"
	for name, tc := range map[string]struct {
		records func() []observe.Record
		want    string
	}{
		"an unrecorded write": {func() []observe.Record {
			return seen(clientCalls(created, conflict), "8", 0, 500*time.Millisecond)
		}, unknown},
		"an unrecorded write that is seen later": {func() []observe.Record {
			return seen(clientCalls(created, conflict), "8", 1, 500*time.Millisecond)
		}, unknown},
		"an unrecorded write long after": {func() []observe.Record {
			return seen(clientCalls(created, conflict), "8", 1, time.Minute)
		}, byCreator},
		"an unrecorded write after the next one": {func() []observe.Record {
			return seen(clientCalls(created, conflict, update("8")), "9", 1, 500*time.Millisecond)
		}, byCreator},
		"a write that is answered later": {func() []observe.Record {
			records := clientCalls(created, update("8"), conflict)
			records[1].Event.(*observe.Called).Took = time.Minute
			return records
		}, unknown},
		"a recorded write that is seen": {func() []observe.Record {
			return seen(clientCalls(created, conflict), "7", 0, 500*time.Millisecond)
		}, byCreator},
	} {
		t.Run(name, func(t *testing.T) {
			records := tc.records()
			for i := range records {
				if c, ok := records[i].Event.(*observe.Called); ok && c.Verb == "update" {
					c.Controller = "shop-operator"
				}
			}
			tree, err := Build(records, deployment("web"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if text := writeString(t, tree, Text, Style{}); !strings.Contains(text, tc.want+"\n") {
				t.Errorf("no %q in:\n%s", tc.want, text)
			}
		})
	}
}

// Some kinds can be created with an update: an update of what was deleted is a conflict then.
func TestConflictsNameWhoHadDeletedTheObject(t *testing.T) {
	created := observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}
	deleted := observe.Called{Verb: "delete", Wrote: deploymentWritten("9", true)}
	for want, calls := range map[string][]observe.Called{
		"conflict: kubectl (admin) had deleted the object\n": {created, deleted, updateOfDeleted(t)},
		"conflict: the object has been deleted\n":            {created, updateOfDeleted(t)},
	} {
		records := clientCalls(calls...)
		records[len(records)-1].Event.(*observe.Called).Controller = "shop-operator"
		tree, err := Build(records, deployment("web"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if text := writeString(t, tree, Text, Style{}); !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

// A restore refuses the writes that wait, whether it changes their object or not: no recorded writer is to blame. A create
// among them is a refused write.
func TestARefusalByARestoreIsNoModification(t *testing.T) {
	const restored = "conflict: the control plane was restored while the write waited"
	created := observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}
	refused := func(verb string) observe.Called {
		return observe.Called{Verb: verb, Status: 409, Conflict: true, Error: `Operation cannot be fulfilled on deployments.apps "web": ` + observe.RestoredMeanwhile + ": read the object again"}
	}
	records := clientCalls(created, refused("update"))
	records[1].Event.(*observe.Called).Controller = "shop-operator"
	tree, err := Build(records, deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := writeString(t, tree, Text, Style{}); !strings.Contains(text, restored+"\n") {
		t.Errorf("no %q in:\n%s", restored, text)
	}
	chain, err := Why(clientCalls(refused("create")), deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(strings.Fields(writeString(t, chain, Text, Style{})), " "); chain.What != Refused || !strings.Contains(text, restored) {
		t.Errorf("%s: no %q in:\n%s", chain.What, restored, text)
	}
}

// The error of a sync is the message as the API server sent it, which ends with a space after a deletion. That of a webhook may
// have several lines.
func TestSyncEndsInConflictWithADeletion(t *testing.T) {
	refused := updateOfDeleted(t)
	refused.Sync = 1
	for _, text := range []string{refused.Error + " ", strings.Replace(refused.Error, ": ", ":\n\n", 1)} {
		records := clientCalls(observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}, refused)
		records[1].Event.(*observe.Called).Client = nil
		at := records[1].Time
		records = append(records,
			observe.Record{Seq: 4, Time: at.Add(-time.Millisecond), Event: &observe.Delivered{Controller: "kubectl (admin)", Change: observe.Added, Object: deployment("web"), ResourceVersion: "7"}},
			observe.Record{Seq: 5, Time: at.Add(time.Millisecond), Event: &observe.Synced{Controller: "kubectl (admin)", ID: 1, Key: "default/web", Cause: 4, Retried: true, Error: text}})
		tree, err := Build(records, deployment("web"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want, got := "; conflict, will retry\n", writeString(t, tree, Text, Style{}); !strings.Contains(got, want) {
			t.Errorf("%q: no %q in:\n%s", text, want, got)
		}
	}
}

// Upstream fails a sync whose cache is older than what the controller itself has written, and repeats it.
func TestWaitForTheCacheIsNoFailure(t *testing.T) {
	const stale = "read version: 7 is not as new as written version: 9 for group resource statefulsets.apps"
	records := clientCalls(observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)})
	at := records[0].Time
	records = append(records,
		observe.Record{Seq: 4, Time: at, Event: &observe.Delivered{Controller: "statefulset-controller", Change: observe.Added, Object: deployment("web"), ResourceVersion: "7"}},
		observe.Record{Seq: 5, Time: at.Add(time.Millisecond), Event: &observe.Synced{Controller: "statefulset-controller", ID: 1, Key: "default/web", Cause: 4, Retried: true, Error: stale}})
	tree, err := Build(records, deployment("web"), Options{All: true})
	if err != nil {
		t.Fatal(err)
	}
	if want, text := "; its cache did not have its last write of statefulsets.apps yet, will retry\n", writeString(t, tree, Text, Style{}); !strings.Contains(text, want) {
		t.Errorf("no %q in:\n%s", want, text)
	}
	for n := range tree.All() {
		if tone := stepTone(n); n.Kind == Sync && tone != "conflict" {
			t.Errorf("tone %q", tone)
		}
	}
}

// updateOfDeleted returns what is recorded of an update that the API server refuses because the object was deleted.
func updateOfDeleted(t *testing.T) observe.Called {
	t.Helper()
	read := types.UID("u")
	err := (&storage.Preconditions{UID: &read}).Check("/registry/deployments/default/web", &metav1.PartialObjectMetadata{})
	var refused *apierrors.StatusError
	if !errors.As(storeerrors.InterpretUpdateError(err, schema.GroupResource{Group: "apps", Resource: "deployments"}, "web"), &refused) {
		t.Fatal(err)
	}
	refused.ErrStatus.Kind = "Status"
	body, err := json.Marshal(refused.ErrStatus)
	if err != nil {
		t.Fatal(err)
	}
	c := observe.Called{Verb: "update", Status: int(refused.ErrStatus.Code)}
	recording.ParseResponse("application/json", body).AddTo(&c)
	return c
}
