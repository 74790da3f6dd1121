package report

import (
	"path/filepath"
	"strconv"
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

// failingCreationEvents are of a sync of the key shop/w that fails to create a Pod.
func failingCreationEvents(message string, status int) []observe.Event {
	return []observe.Event{
		&observe.Called{Controller: "c", Verb: "create", Object: observe.Object{Resource: "pods", Namespace: "shop"}, Status: status, Sync: 1, Error: message},
		&observe.Synced{Controller: "c", Queue: "q", ID: 1, Key: "shop/w", Error: message, Writes: 1},
	}
}

// failingCreation has a sync that fails to create a Pod, and the records that follow.
func failingCreation(message string, status int, then ...observe.Event) *digest {
	d := newDigest()
	for i, e := range append(failingCreationEvents(message, status), then...) {
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
	retry := &observe.Called{Controller: "c", Verb: "create", Object: observe.Object{Resource: "pods", Namespace: "shop"}, Status: 403, Sync: 2, Error: quota}
	running := &observe.Synced{Controller: "c", Queue: "q", ID: 2, Key: "shop/w", Error: quota, Writes: 1, Took: time.Second}
	thirdIdle := &observe.Synced{Controller: "c", Queue: "q", ID: 3, Key: "shop/w"}
	thirdFailing := &observe.Synced{Controller: "c", Queue: "q", ID: 3, Key: "shop/w", Error: quota, Writes: 1}
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
		"fails, and succeeds, after a deletion":        {quota, 403, []observe.Event{deleted, retry, failing, thirdIdle}, failureCounts{calls: 2}, none},
		"writes after a deletion, then fails":          {quota, 403, []observe.Event{deleted, writing, thirdFailing}, failureCounts{syncs: 1, calls: 1}, none},
		"a sync that ran during the deletion fails":    {quota, 403, []observe.Event{deleted, retry, running}, none, failureCounts{2, 2}},
		"it then finds the object deleted":             {quota, 403, []observe.Event{deleted, retry, running, thirdIdle}, none, failureCounts{2, 2}},
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

// TestFailuresAfterDeletionOfChild: an operator's child has the name of its parent, as is usual. It is deleted, and from then on the
// operator fails to create it again.
func TestFailuresAfterDeletionOfChild(t *testing.T) {
	const quota = "exceeded quota: q"
	child := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "shop", Name: "web"}
	d := newDigest()
	add := func(events ...observe.Event) {
		for _, e := range events {
			d.add(observe.Record{Seq: d.records + 1, Time: runStart, Event: e})
		}
	}
	fail := func(sync uint64) {
		add(&observe.Called{Controller: "c", Verb: "create", Object: child, Status: 403, Sync: sync, Error: quota},
			&observe.Synced{Controller: "c", Queue: "site", ID: sync, Key: "shop/web", Error: quota, Writes: 1})
	}
	add(&observe.Delivered{Controller: "c", Change: observe.Deleted, Object: child, Queues: []string{"site"}})
	fail(1)
	fail(2)
	d.markRetried()
	if want := (failureCounts{2, 2}); d.lasting != want || d.untilDeleted != (failureCounts{}) {
		t.Errorf("lasting %+v, until deleted %+v; want %+v and none", d.lasting, d.untilDeleted, want)
	}
	for _, g := range d.groups.sortedGroups() {
		if got := g.Endings(); got != "" {
			t.Errorf("%s: %q", g.Kind, got)
		}
	}
	for _, f := range runFacts(d, &State{}, d.listActors(nil)) {
		if strings.Contains(f.Name, "failed ") && (f.Value != "2" || strings.Contains(f.Name, "deleted") || !f.Bad) {
			t.Errorf("%+v", f)
		}
	}
}

// TestDeletedKeysAreBounded: most objects add the key of their owner, of which a sync never finds them deleted.
func TestDeletedKeysAreBounded(t *testing.T) {
	deletion := func(name string) observe.Event {
		pod := observe.Object{Resource: "pods", Namespace: "shop", Name: name}
		return &observe.Delivered{Controller: "c", Change: observe.Deleted, Object: pod, Queues: []string{"q"}}
	}
	then := []observe.Event{deletion("w")}
	for i := range maxDeletedKeys {
		then = append(then, deletion(strconv.Itoa(i)))
	}
	then = append(then, &observe.Synced{Controller: "c", Queue: "q", ID: 2, Key: "shop/w", Error: "refused"})
	d := newDigest()
	for i, e := range append(failingCreationEvents("exceeded quota: q", 403), then...) {
		d.add(observe.Record{Seq: uint64(i + 1), Time: runStart, Event: e})
	}
	if n := len(d.retries.deleted); n > maxDeletedKeys || n < maxDeletedKeys/2 {
		t.Errorf("%d deleted objects are kept", n)
	}
	d.markRetried()
	if want := (failureCounts{1, 1}); d.untilDeleted != want || d.lasting != (failureCounts{syncs: 1}) {
		t.Errorf("lasting %+v, until deleted %+v; want the last sync, and %+v", d.lasting, d.untilDeleted, want)
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
	for _, f := range runFacts(d, &State{}, d.listActors(nil)) {
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
	for _, f := range runFacts(d, &State{snapshot: j.now}, d.listActors(j.now.Controllers)) {
		if f.Name == "failed call" && f.Value == "1" && listed == 1 {
			return
		}
	}
	t.Errorf("%d are listed: %+v", listed, runFacts(d, &State{snapshot: j.now}, d.listActors(j.now.Controllers)))
}

// TestRepeatedCreations: that an object exists ends a failure of another kind, such as a timeout, but not an earlier AlreadyExists.
func TestRepeatedCreations(t *testing.T) {
	const exists = `configmaps "twice" already exists`
	for name, tt := range map[string]struct {
		statuses []int
		retried  uint64
	}{
		"it exists each time":                    {[]int{201, 409, 409, 409}, 0},
		"after a timeout":                        {[]int{504, 409}, 1},
		"before and after a timeout":             {[]int{409, 504, 409}, 1},
		"created again after it was deleted":     {[]int{409, 409, 201}, 2},
		"a timeout is followed by the creation":  {[]int{504, 504, 201}, 2},
		"the first ones fail with another error": {[]int{504, 504, 409, 409}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDigest()
			for i, status := range tt.statuses {
				c := &observe.Called{Controller: "installer (admin)", Verb: "create", Object: observe.Object{Resource: "configmaps", Name: "twice"}, Status: status}
				switch status {
				case 409:
					c.Error = exists
				case 504:
					c.Error = "timeout"
				}
				d.add(observe.Record{Seq: uint64(i + 1), Time: runStart, Event: c})
			}
			d.markRetried()
			retried := uint64(0)
			for _, g := range d.groups.sortedGroups() {
				retried += g.Retried
			}
			if retried != tt.retried {
				t.Errorf("%d were retried successfully, want %d", retried, tt.retried)
			}
		})
	}
}
