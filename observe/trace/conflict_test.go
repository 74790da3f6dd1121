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
	text := strings.Join(strings.Fields(writeString(t, tree, Text, Style{})), " ") + "\n"
	for _, want := range []string{
		"had a conflict when it tried to update Deployment web status, which kubectl (admin) had modified to version 8; retried",
		"conflict: it had itself modified the object to version 9\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

// The first write after the version that the client had read has led to the conflict. The last one may only follow from that.
func TestConflictsNameTheFirstWriterAfterWhatWasRead(t *testing.T) {
	for readVersion, want := range map[string]string{
		"6": "which kubectl (admin) had modified to version 7, and deployment-controller to version 9; retried",
		"7": "which kubectl (admin) had modified to version 8, and deployment-controller to version 9; retried",
		"8": "which deployment-controller had modified to version 9; retried",
		"9": "which had been modified; retried", // by a write that is not recorded
		"":  "which deployment-controller had modified to version 9; retried",
	} {
		records := clientCalls(
			observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)},
			observe.Called{Verb: "patch", ResourceVersion: "8", Wrote: deploymentWritten("8", false)},
			observe.Called{Verb: "update", Subresource: "status", ResourceVersion: "9", Wrote: deploymentWritten("9", false)},
			observe.Called{Verb: "update", Status: 409, Conflict: true, Error: "modified", ReadVersion: readVersion},
			observe.Called{Verb: "update", ResourceVersion: "11", Wrote: deploymentWritten("11", false)},
		)
		for i, name := range []string{"deployment-controller", "shop-operator", "shop-operator"} {
			records[2+i].Event.(*observe.Called).Controller = name
		}
		tree, err := Build(records, deployment("web"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(writeString(t, tree, Text, Style{})), " "); !strings.Contains(text, want) {
			t.Errorf("read version %q: no %q in:\n%s", readVersion, want, text)
		}
	}
}

// A conflict of a client does not count as a failure if the client has made the same write again, with success, within observe.MaxRetry of each attempt.
func TestConflictsOfClientsThatAreRetried(t *testing.T) {
	created := observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}
	conflict := observe.Called{Verb: "update", Status: 409, Conflict: true, Error: "modified"}
	done := observe.Called{Verb: "update", ResourceVersion: "9", Wrote: deploymentWritten("9", false)}
	refused := observe.Called{Verb: "update", Status: 403, Error: "no"}
	status, patch, dryRun := done, done, observe.Called{Verb: "update", DryRun: true}
	status.Subresource, patch.Verb = "status", "patch"
	injected := observe.Called{Verb: "update", Status: 409, Conflict: true, Error: "not now: " + observe.InjectedFault}
	for name, tc := range map[string]struct {
		calls []observe.Called
		late  time.Duration // of the last call
		want  int           // retried conflicts
	}{
		"with success":      {[]observe.Called{created, conflict, done}, 0, 1},
		"twice":             {[]observe.Called{created, conflict, conflict, done}, 0, 2},
		"without success":   {[]observe.Called{created, conflict, conflict}, 0, 0},
		"refused then":      {[]observe.Called{created, conflict, refused}, 0, 0},
		"after a minute":    {[]observe.Called{created, conflict, done}, time.Minute, 1},
		"long after":        {[]observe.Called{created, conflict, done}, 2 * time.Minute, 0},
		"of the status":     {[]observe.Called{created, conflict, status}, 0, 0},
		"with another verb": {[]observe.Called{created, conflict, patch}, 0, 0},
		"in a dry run":      {[]observe.Called{created, conflict, dryRun}, 0, 0},
		"injected":          {[]observe.Called{created, injected, conflict, done}, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			records := clientCalls(tc.calls...)
			for _, r := range records[1:] {
				r.Event.(*observe.Called).Controller = "shop-operator"
			}
			last := records[len(records)-1].Event.(*observe.Called)
			last.Began = last.Began.Add(tc.late)
			tree, err := Build(records, deployment("web"), Options{All: true})
			if err != nil {
				t.Fatal(err)
			}
			text := writeString(t, tree, Text, Style{})
			if got := strings.Count(text, "; retried"); got != tc.want {
				t.Errorf("%d conflicts were retried, want %d:\n%s", got, tc.want, text)
			}
		})
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
		}, ", which kubectl (admin) had modified to version 7; retried"},
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
	patched := observe.Called{Verb: "patch", ResourceVersion: "8", Wrote: deploymentWritten("8", false)}
	deleted := observe.Called{Verb: "delete", Wrote: deploymentWritten("9", true)}
	update := updateOfDeleted(t)
	update.ReadVersion = "7"
	for name, tc := range map[string]struct {
		calls   []observe.Called
		patcher string
		want    string
	}{
		"deleted":                       {[]observe.Called{created, deleted, update}, "", "conflict: kubectl (admin) had deleted the object"},
		"without a record":              {[]observe.Called{created, update}, "", "conflict: the object has been deleted"},
		"patched before":                {[]observe.Called{created, patched, deleted, update}, "", "conflict: kubectl (admin) had deleted the object"},
		"patched before by another one": {[]observe.Called{created, patched, deleted, update}, "carol", "conflict: carol had modified the object to version 8, and kubectl (admin) had deleted it"},
	} {
		records := clientCalls(tc.calls...)
		records[len(records)-1].Event.(*observe.Called).Controller = "shop-operator"
		if tc.patcher != "" {
			records[1].Event.(*observe.Called).Controller = tc.patcher
		}
		tree, err := Build(records, deployment("web"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if text := writeString(t, tree, Text, Style{}); !strings.Contains(strings.Join(strings.Fields(text), " "), tc.want) {
			t.Errorf("%s: no %q in:\n%s", name, tc.want, text)
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
