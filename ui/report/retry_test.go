package report

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// retryJournal has a failed sync and a failed call of each kind; what is retried
// successfully if retried is set.
func retryJournal(retried bool) *fakeJournal {
	j := newFakeJournal()
	pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "shop", Name: "p"}
	sync := func(id uint64, key, message string) {
		j.add(time.Duration(id)*time.Millisecond, &observe.Synced{Controller: "c", Queue: "q", ID: id, Key: key, Error: message, Retried: message != ""})
	}
	call := func(at, sync uint64, status int) {
		message := ""
		if status >= 400 {
			message = "refused"
		}
		j.add(time.Duration(at)*time.Millisecond, &observe.Called{Controller: "c", Verb: "update", Object: pod, Status: status, Sync: sync, Error: message})
	}
	call(1, 1, 500)
	sync(1, "shop/p", "refused")
	call(2, 0, 500) // outside of any sync
	call(3, 3, 404) // its sync has no key, and handles it
	sync(3, "", "")
	if retried {
		call(4, 4, 200)
		sync(4, "shop/p", "")
	} else {
		sync(4, "shop/other", "")
	}
	j.now.Controllers = []observe.Controller{{Name: "c", Syncs: 3, Failures: 1, Errors: 3, Changes: 3}}
	return j
}

func TestRetriedFailuresAreNotRed(t *testing.T) {
	for _, retried := range []bool{true, false} {
		d := newDigest()
		for _, r := range retryJournal(retried).records {
			d.add(r)
		}
		d.markRetried()
		if want := (failureCounts{1, 2}); !retried && d.lasting != want || retried && d.lasting != (failureCounts{}) {
			t.Errorf("retried %v: what is left: %+v", retried, d.lasting)
		}
		for _, m := range d.marks.list {
			if retried && m.tone == toneFailed {
				t.Errorf("%+v is red although it was retried", m)
			}
		}
		text := testutil.ReadFile(t, filepath.Join(writeReport(t, retryJournal(retried), &State{}, Outcome{Command: []string{"true"}, Began: runStart, Took: time.Second}), PageFile))
		if got := strings.Contains(text, `<li class="bad">`); got == retried {
			t.Errorf("retried %v: a fact is red: %v", retried, got)
		}
		if got := strings.Contains(text, "retried successfully"); got != retried && retried {
			t.Errorf("retried %v: the page says so: %v", retried, got)
		}
	}
}

// failingCreation has a sync of the key shop/w that fails to create a Pod, and the records that follow.
func failingCreation(message string, status int, then ...observe.Event) *digest {
	d := newDigest()
	called := &observe.Called{Controller: "c", Verb: "create", Object: observe.Object{Resource: "pods", Namespace: "shop"}, Status: status, Sync: 1, Error: message}
	synced := &observe.Synced{Controller: "c", Queue: "q", ID: 1, Key: "shop/w", Error: message, Writes: 1}
	for i, e := range append([]observe.Event{called, synced}, then...) {
		d.add(observe.Record{Seq: uint64(i + 1), Time: runStart, Event: e})
	}
	d.markRetried()
	return d
}

// TestFailedCreations: a sync that finds its object deleted succeeds, and has created nothing.
func TestFailedCreations(t *testing.T) {
	const quota = "exceeded quota: q"
	set := observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "shop", Name: "w"}
	deleted := &observe.Delivered{Controller: "c", Change: observe.Deleted, Object: set, Queues: []string{"q"}}
	added := &observe.Delivered{Controller: "c", Change: observe.Added, Object: set, Queues: []string{"q"}}
	idle := &observe.Synced{Controller: "c", Queue: "q", ID: 2, Key: "shop/w"}
	failing := &observe.Synced{Controller: "c", Queue: "q", ID: 2, Key: "shop/w", Error: quota, Writes: 1}
	writing := &observe.Synced{Controller: "c", Queue: "q", ID: 2, Key: "shop/w", Writes: 1}
	creates := &observe.Called{Controller: "c", Verb: "create", Object: observe.Object{Resource: "pods", Namespace: "shop", Name: "w-x"}, Status: 201, Sync: 2}
	both, none := failureCounts{1, 1}, failureCounts{}
	for name, tt := range map[string]struct {
		message               string
		status                int
		then                  []observe.Event
		lasting, untilDeleted failureCounts
	}{
		"created by a later sync of the key":           {quota, 403, []observe.Event{creates, writing}, none, none},
		"the later sync creates nothing":               {quota, 403, []observe.Event{idle}, failureCounts{calls: 1}, none},
		"the later sync creates one, and fails":        {quota, 403, []observe.Event{creates, failing}, failureCounts{2, 1}, none},
		"the key's object is deleted":                  {quota, 403, []observe.Event{deleted, idle}, none, both},
		"deleted at the end":                           {quota, 403, []observe.Event{deleted}, none, both},
		"deleted, and made again":                      {quota, 403, []observe.Event{deleted, idle, added, creates, writing}, none, both},
		"an object of the key is deleted and replaced": {quota, 403, []observe.Event{deleted, creates, writing}, none, none},
		"made again before the sync":                   {quota, 403, []observe.Event{deleted, added, idle}, failureCounts{calls: 1}, none},
		"it exists":                                    {`pods "w" already exists`, 409, []observe.Event{idle}, none, none},
		"the namespace is being deleted":               {"forbidden: " + observe.NamespaceTerminating, 403, []observe.Event{idle}, none, failureCounts{calls: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			d := failingCreation(tt.message, tt.status, tt.then...)
			if d.lasting != tt.lasting || d.untilDeleted != tt.untilDeleted {
				t.Errorf("lasting %+v, until deleted %+v; want %+v and %+v", d.lasting, d.untilDeleted, tt.lasting, tt.untilDeleted)
			}
		})
	}
}

func TestDeletionIsNotASuccess(t *testing.T) {
	gone := observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "shop", Name: "w"}
	d := failingCreation("exceeded quota: q", 403,
		&observe.Delivered{Controller: "c", Change: observe.Deleted, Object: gone, Queues: []string{"q"}}, &observe.Synced{Controller: "c", Queue: "q", ID: 2, Key: "shop/w"})
	for _, g := range d.groups.sortedGroups() {
		if got, want := g.Endings(), "failed until the object was deleted"; got != want {
			t.Errorf("%s: %q, want %q", g.Kind, got, want)
		}
	}
	for _, f := range runFacts(d, &State{}) {
		if strings.Contains(f.Name, "failed ") && (f.Value != "1" || !strings.HasSuffix(f.Name, ", 1 until the object was deleted") || f.Bad) {
			t.Errorf("%+v", f)
		}
	}
}

// TestFailedCallsAreThoseListed: the count of failed calls has none that the list of errors has not.
func TestFailedCallsAreThoseListed(t *testing.T) {
	j := newFakeJournal()
	absent := observe.Object{Resource: "leases", Name: "node-1"}
	j.add(1, &observe.Called{Controller: "c", Verb: "get", Object: absent, Status: 404, Error: "not found"})
	j.add(2, &observe.Called{Controller: "client", Verb: "patch", Object: absent, Status: 403, Error: "forbidden"})
	j.now.Controllers = []observe.Controller{{Name: "c", Errors: 1}}
	d := newDigest()
	for _, r := range j.records {
		d.add(r)
	}
	d.markRetried()
	listed := uint64(0)
	for _, g := range d.groups.sortedGroups() {
		listed += g.Count
	}
	for _, f := range runFacts(d, &State{snapshot: j.now}) {
		if f.Name == "failed call" && f.Value == "1" && listed == 1 {
			return
		}
	}
	t.Errorf("%d are listed: %+v", listed, runFacts(d, &State{snapshot: j.now}))
}
