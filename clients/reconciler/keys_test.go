package reconciler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/ctrlplane/ctrlplane/clients"
)

// follow adds keys and syncs them as a controller does.
type follow struct {
	*testing.T
	*keys
}

func (f *follow) event(key string) *clients.ReportedEvent {
	e := &clients.ReportedEvent{Change: "updated", Controller: "site"}
	f.add(e, key)
	return e
}

func (f *follow) last() clients.ReportedRecord {
	f.Helper()
	_, records, _ := f.take(maxRecords)
	if len(records) == 0 {
		f.Fatal("no record")
	}
	return records[len(records)-1]
}

// A key that waits is added once, and its sync follows from the event that added it.
func TestSyncFollowsFromTheEventThatAddedItsKey(t *testing.T) {
	f := &follow{t, newKeys()}
	first, second := f.event("a/b"), f.event("a/b")
	if len(first.Adds) != 1 || first.Adds[0] != 1 || len(second.Adds) != 0 {
		t.Errorf("adds %v and %v, want [1] and none", first.Adds, second.Adds)
	}
	id := f.begin("site", "a/b")
	if q, _, _ := f.take(0); q.InFlight != 1 || q.Gets != 1 || q.Adds != 1 {
		t.Errorf("got %+v", q)
	}
	f.end(id, nil, time.Time{})
	e := f.last().Ended
	if e == nil || e.Add != 1 || e.Event != first.ID || e.Sync != 0 || e.Unsure || e.Requeued || e.Error != "" {
		t.Errorf("got %+v", e)
	}
}

// An event during a sync adds the key again, for the sync after it.
func TestEventDuringASync(t *testing.T) {
	f := &follow{t, newKeys()}
	f.event("a/b")
	id := f.begin("site", "a/b")
	during := f.event("a/b")
	f.end(id, nil, time.Time{})
	f.end(f.begin("site", "a/b"), nil, time.Time{})
	if e := f.last().Ended; e.Event != during.ID || e.Add != 2 || e.Unsure {
		t.Errorf("got %+v, want the event %d", e, during.ID)
	}
}

// A sync that fails is the cause of the next one, once its key is due.
func TestFailedSyncIsTheCauseOfTheNext(t *testing.T) {
	f := &follow{t, newKeys()}
	f.event("a/b")
	id, due := f.begin("site", "a/b"), time.Now().Add(time.Hour)
	f.end(id, errors.New("exit code 3"), due)
	if e := f.last().Ended; e.Error != "exit code 3" || !e.Requeued || !e.Due.Equal(due) {
		t.Errorf("got %+v", e)
	}
	if q, _, _ := f.take(0); q.Delayed != 1 || !q.NextDue.Equal(due) || q.Retries != 1 || q.InFlight != 0 {
		t.Errorf("got %+v", q)
	}
	f.delayed["a/b"] = added{sync: id, at: time.Now().Add(-time.Millisecond)} // its time has come
	f.end(f.begin("site", "a/b"), nil, time.Time{})
	if e := f.last().Ended; e.Sync != id || e.Event != 0 || e.Add != 2 || e.Waited < time.Millisecond {
		t.Errorf("got %+v, want the sync %d", e, id)
	}
	if q, _, _ := f.take(0); q.Delayed != 0 || !q.NextDue.IsZero() {
		t.Errorf("got %+v, want nothing delayed", q)
	}
}

// A key of which it is not known what added it has an unsure cause: the last event about it.
func TestUnknownAddIsUnsure(t *testing.T) {
	f := &follow{t, newKeys()}
	e := f.event("a/b")
	f.end(f.begin("site", "a/b"), nil, time.Time{})
	f.end(f.begin("site", "a/b"), nil, time.Time{})
	if got := f.last().Ended; !got.Unsure || got.Event != e.ID || got.Add != 0 {
		t.Errorf("got %+v", got)
	}
	if q, _, _ := f.take(0); q.Adds != 2 || q.Gets != 2 {
		t.Errorf("%d adds, %d gets: a queue gives out no more keys than were added", q.Adds, q.Gets)
	}
}

// The workers have started once the caches are filled.
func TestStateBeforeWork(t *testing.T) {
	f := &follow{t, newKeys()}
	if q, _, _ := f.take(0); q.State != clients.StateStarting {
		t.Errorf("state %q", q.State)
	}
	f.startWork()
	if q, _, _ := f.take(0); q.State != "" {
		t.Errorf("state %q", q.State)
	}
}

func TestRecordsAreBounded(t *testing.T) {
	f := &follow{t, newKeys()}
	for range maxRecords + 1 {
		f.event("a/b")
	}
	_, records, dropped := f.take(2 * maxRecords)
	if len(records) != maxRecords*3/4+1 || dropped != maxRecords/4 {
		t.Errorf("%d records, %d dropped", len(records), dropped)
	}
}

// The names of objects that come and go do not fill the memory.
func TestKeysAreForgotten(t *testing.T) {
	f := &follow{t, newKeys()}
	for i := range 2*maxRecords + 1 {
		key := fmt.Sprintf("a/%d", i)
		f.event(key)
		f.end(f.begin("site", key), nil, time.Time{})
	}
	if n := len(f.lastIDs) + len(f.waiting) + len(f.delayed) + len(f.running); n > maxRecords {
		t.Errorf("%d keys are kept", n)
	}
}

// An update that changes the owner of an object adds the keys of both: the former one has lost it.
func TestChangeOfOwnerAddsBothKeys(t *testing.T) {
	sites := Kind{schema.GroupVersionResource{Group: "shop.example", Version: "v1", Resource: "sites"}, "Site", true}
	deployments := Kind{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "Deployment", true}
	ownedBy := func(site string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		o.SetNamespace("ns")
		o.SetName("web")
		if site != "" {
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "shop.example/v1", Kind: "Site", Name: site, Controller: new(true)}})
		}
		return o
	}
	for _, tc := range []struct {
		before, now string
		want        []string
	}{
		{"a", "a", []string{"ns/a"}},
		{"a", "b", []string{"ns/b", "ns/a"}},
		{"a", "", []string{"ns/a"}},
		{"", "b", []string{"ns/b"}},
		{"", "", nil},
	} {
		c := &Controller{Name: "site", For: sites, queue: workqueue.NewTypedDelayingQueue[string](), keys: newKeys(), reporter: &reporter{wake: make(chan struct{}, 1)}}
		c.handler(deployments).OnUpdate(ownedBy(tc.before), ownedBy(tc.now))
		var got []string
		for c.queue.Len() > 0 {
			key, _ := c.queue.Get()
			got = append(got, key)
		}
		c.queue.ShutDown()
		if !slices.Equal(got, tc.want) {
			t.Errorf("from %q to %q: keys %q, want %q", tc.before, tc.now, got, tc.want)
		}
		_, records, _ := c.keys.take(maxRecords)
		if n := len(tc.want); n > 0 && (len(records) != 1 || len(records[0].Event.Adds) != n) {
			t.Errorf("from %q to %q: records %+v, want an event that adds %d keys", tc.before, tc.now, records, n)
		}
	}
}

// A controller that is stopped does not begin the syncs of the keys that still wait.
func TestNoSyncAfterTheEnd(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var synced []string
	c := &Controller{
		Name: "site", limiter: workqueue.DefaultTypedControllerRateLimiter[string](), queue: workqueue.NewTypedDelayingQueue[string](),
		keys: newKeys(), reporter: &reporter{wake: make(chan struct{}, 1)},
		Sync: func(_ context.Context, key cache.ObjectName, _ string) error {
			synced = append(synced, key.String())
			stop()
			return nil
		},
	}
	for _, key := range []string{"a/a", "a/b", "a/c"} {
		c.queue.Add(key)
	}
	c.work(ctx)
	if len(synced) != 1 {
		t.Errorf("synced %q", synced)
	}
}
