package observe_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

var (
	cronJob = observe.Object{Group: "batch", Resource: "cronjobs", Kind: "CronJob", Namespace: "c5", Name: "one"}
	ownJob  = observe.Object{Group: "batch", Resource: "jobs", Kind: "Job", Namespace: "c5", Name: "one-1"}
)

// sync takes the key of a queue, makes calls and is done.
func (b queueBench) sync(q interface {
	Get() (string, bool)
	AddAfter(string, time.Duration)
	Done(string)
}, again time.Duration, calls ...observe.Called) {
	b.by.Do(func() {
		key, _ := q.Get()
		for _, c := range calls {
			b.by.Call(&c, func() {})
		}
		if again > 0 {
			q.AddAfter(key, again)
		}
		q.Done(key)
	})
}

// The keys of a queue name objects of one resource, where that is known. Those of other resources, which a sync reads or writes, or
// an event of which has added the key, are not it.
func TestKeysAreOfTheResourceOfTheirQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newQueueBench(t)
		defer b.Close()
		b.by.SetKeyResources(map[string]string{"cronjob": "cronjobs.batch"})
		q := newQueue[string](b, "cronjob")
		defer q.ShutDown()
		getJob := observe.Called{Verb: "get", Object: ownJob, Status: http.StatusNotFound, Error: "not found"}
		deleteJob := observe.Called{Verb: "delete", Object: ownJob, Status: http.StatusOK}
		status := observe.Called{Verb: "update", Subresource: "status", Object: cronJob, Status: http.StatusOK}
		const delay = 10 * time.Second
		for _, add := range []func(){
			func() { q.Add("c5/one") },
			func() {
				b.by.Deliver(&observe.Delivered{Change: observe.Updated, Object: ownJob}, func() { q.Add("c5/one") })
			},
			func() {
				b.by.Deliver(&observe.Delivered{Change: observe.Updated, Object: ownJob}, func() { q.AddAfter("c5/one", delay) })
				time.Sleep(delay)
				synctest.Wait()
			},
		} {
			for _, calls := range [][]observe.Called{nil, {getJob}, {getJob, deleteJob}} {
				add()
				b.sync(q, 0, calls...)
			}
		}
		b.by.Deliver(&observe.Delivered{Change: observe.Updated, Object: cronJob}, func() { q.Add("c5/one") })
		b.sync(q, 0, getJob)
		q.Add("c5/one")
		b.sync(q, 0, deleteJob, status)
		synced := recordedEvents[*observe.Synced](t, b)
		for i, s := range synced[:9] {
			if s.Key != "" {
				t.Errorf("sync %d: key %s (%s)", i, s.Key, s.KeyBasis)
			}
		}
		if s := synced[9]; s.Key != cronJob.Key() || s.KeyBasis != observe.BasisEvent {
			t.Errorf("after an event of its object: key %q (%s)", s.Key, s.KeyBasis)
		}
		if s := synced[10]; s.Key != cronJob.Key() || s.KeyBasis != observe.BasisCall {
			t.Errorf("after a write of its object: key %q (%s)", s.Key, s.KeyBasis)
		}
	})
}

func (b queueBench) failingKeys(t *testing.T) []observe.FailingKey {
	t.Helper()
	now, err := b.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return now.Controllers[0].Failing
}

// A key that is only inferred does not fail any longer once its retry has been due for a while and its queue is empty: the retry had
// another name.
func TestPhantomKeysDoNotFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newQueueBench(t)
		defer b.Close()
		q := newQueue[string](b, "q")
		defer q.ShutDown()
		for _, name := range []string{"one-1", "one-2"} {
			o := ownJob
			o.Name = name
			failed := observe.Called{Verb: "delete", Object: o, Status: http.StatusConflict, Error: "conflict"}
			succeeded := observe.Called{Verb: "update", Object: cronJob, Status: http.StatusOK}
			q.Add("c5/one")
			b.sync(q, time.Second, failed)
			if f := b.failingKeys(t); len(f) != 1 || f[0].Key != "c5/"+name {
				t.Fatalf("%s: failing: %+v", name, f)
			}
			time.Sleep(2 * time.Second)
			if name == "one-1" {
				b.sync(q, 0, succeeded)
			}
			time.Sleep(20 * time.Second)
			switch f := b.failingKeys(t); {
			case name == "one-1" && len(f) != 0:
				t.Errorf("long after its retry, it fails: %+v", f)
			case name == "one-2" && len(f) != 1:
				t.Error("it does not fail although its retry is still queued")
			}
		}
	})
}

// A key of a deleted object does not fail, although it is still due: the controller does not find the object then. What fails after
// the deletion does.
func TestKeysOfDeletedObjectsDoNotFail(t *testing.T) {
	hpa := observe.Object{Group: "autoscaling", Resource: "horizontalpodautoscalers", Namespace: "a1", Name: "web"}
	target := observe.Object{Group: "apps", Resource: "deployments", Namespace: "a1", Name: "web"}
	failed := observe.Called{Verb: "update", Subresource: "status", Object: hpa, Status: http.StatusForbidden, Error: "forbidden"}
	for name, tc := range map[string]struct {
		deleted     observe.Object
		again, fail bool
	}{
		"it":                   {hpa, false, false},
		"another kind":         {target, false, true},
		"it, then fails again": {hpa, true, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newQueueBench(t)
			defer b.Close()
			b.by.SetKeyResources(map[string]string{"hpa": "horizontalpodautoscalers.autoscaling"})
			q := newQueue[string](b, "hpa")
			defer q.ShutDown()
			q.Add("a1/web")
			b.sync(q, 15*time.Second, failed)
			if f := b.failingKeys(t); len(f) != 1 {
				t.Fatalf("%s: failing: %+v", name, f)
			}
			b.Append(&observe.Called{Controller: "kubectl", Verb: "delete", Object: tc.deleted, Status: http.StatusOK, Wrote: []observe.Written{{
				Resource: tc.deleted.GroupResource(), Namespace: tc.deleted.Namespace, Name: tc.deleted.Name, Deleted: true,
			}}})
			if tc.again {
				q.Add("a1/web")
				b.sync(q, 15*time.Second, failed)
			}
			if f := b.failingKeys(t); len(f) > 0 != tc.fail {
				t.Errorf("%s was deleted: failing: %+v", name, f)
			}
		})
	}
}
