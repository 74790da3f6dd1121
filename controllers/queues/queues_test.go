package queues_test

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	_ "k8s.io/component-base/metrics/prometheus/workqueue" // sets its own provider

	"github.com/ctrlplane/ctrlplane/controllers/queues"
	"github.com/ctrlplane/ctrlplane/observe"
)

// If the order of initialization or component-base's provider changes, no queue of
// the process is observed any more.
func TestProviderIsRegisteredFirst(t *testing.T) {
	q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "first-provider"})
	defer q.ShutDown()
	q.Add("key")
	for _, s := range queues.All().Series() {
		if s.Name == "first-provider" && s.Adds > 0 {
			return
		}
	}
	t.Fatal("component-base's metrics provider was set first: queues are not observed")
}

// Every queue starts a goroutine that sets metrics periodically. observe does not
// need those of controllers. They must be recognized by name: otherwise a worker
// would end instead.
func TestQueuesOfControllersDoNotTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ticking := func() int {
			time.Sleep(time.Second)
			synctest.Wait()
			buf := make([]byte, 1<<20)
			return strings.Count(string(buf[:runtime.Stack(buf, true)]), ".updateUnfinishedWorkLoop(")
		}
		all := observe.NewQueues()
		open := func(name string) workqueue.TypedInterface[string] {
			return workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: name, MetricsProvider: queues.Provider{Queues: all}})
		}
		before := ticking()
		unowned := open("unowned")
		defer unowned.ShutDown()
		if got := ticking() - before; got != 1 {
			t.Errorf("%d goroutines tick for a queue without a controller, want 1: is the function still called updateUnfinishedWorkLoop?", got)
		}
		p := newTestController()
		defer p.Close()
		if got := ticking() - before; got != 1 {
			t.Errorf("%d goroutines tick after adding a queue of a controller, want 1", got)
		}
		p.queue.Add("a")
		p.recorder.Do(func() { p.queue.Get() })
		unowned.Add("b")
		unowned.Get()
		ticking()
		if got, _ := p.snapshotOne(t); got.Longest != time.Second || got.Unfinished != time.Second {
			t.Errorf("after a second: %+v", got)
		}
		for _, s := range append(all.Series(), p.queues.Series()...) {
			if s.Unfinished != 1 || s.Longest != 1 {
				t.Errorf("after a second: %+v", s)
			}
		}
		p.queue.Done("a")
		p.queue.ShutDown() // waits for the goroutine
	})
}

// testController is a controller with one queue.
type testController struct {
	*observe.Observer
	recorder *observe.Recorder
	queues   *observe.Queues
	queue    workqueue.TypedRateLimitingInterface[string]
}

func newTestController() *testController {
	all := observe.NewQueues()
	o := observe.New(observe.Options{Queues: all})
	p := &testController{Observer: o, recorder: o.Recorder("web-controller"), queues: all}
	p.recorder.Do(func() {
		p.queue = workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "web", MetricsProvider: queues.Provider{Queues: all}})
	})
	return p
}

func (p *testController) snapshotOne(t *testing.T) (observe.Queue, observe.Controller) {
	t.Helper()
	s, err := p.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Queues) != 1 || len(s.Controllers) != 1 {
		t.Fatalf("%d queues and %d controllers", len(s.Queues), len(s.Controllers))
	}
	return s.Queues[0], s.Controllers[0]
}

func (p *testController) records(t *testing.T, kind observe.Kind) (events []observe.Event) {
	t.Helper()
	page, err := p.Records(t.Context(), observe.Query{Kinds: []observe.Kind{kind}, Reads: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range page.Records {
		events = append(events, r.Event)
	}
	return events
}

func deployment(name string) observe.Object {
	return observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: name}
}

// The numbers of a queue match the operations on it. The clock of synctest only
// advances while the test waits.
func TestQueueNumbersMatchOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestController()
		defer p.Close()
		defer p.queue.ShutDown()
		for _, key := range []string{"a", "b", "c", "b"} { // the second b is already queued
			p.queue.Add(key)
		}
		time.Sleep(100 * time.Millisecond)
		got, _ := p.snapshotOne(t)
		if got.Controller != "web-controller" || got.Name != "web" || got.Depth != 3 || got.Adds != 3 || got.Gets != 0 || got.InFlight != 0 {
			t.Errorf("after three adds: %+v", got)
		}
		p.recorder.Do(func() {
			first, _ := p.queue.Get()
			second, _ := p.queue.Get()
			p.queue.Add(first) // while it is processed: queued again afterwards
			time.Sleep(50 * time.Millisecond)
			got, _ = p.snapshotOne(t)
			if got.Depth != 2 || got.InFlight != 2 || got.Adds != 4 || got.Gets != 2 ||
				got.Unfinished != 100*time.Millisecond || got.Longest != 50*time.Millisecond {
				t.Errorf("with two in flight: %+v", got)
			}
			p.queue.Done(second)
			p.queue.AddRateLimited(first) // a second later
			p.queue.Done(first)
		})
		got, _ = p.snapshotOne(t)
		if got.Depth != 2 || got.InFlight != 0 || got.Done != 2 || got.Retries != 1 || got.Delayed != 1 {
			t.Errorf("after both are done: %+v", got)
		}
		if w := got.Work.Total; w.Count != 2 || w.Sum != 100*time.Millisecond || w.Max != 50*time.Millisecond {
			t.Errorf("work: %+v", w)
		}
		if w := got.Wait.Total; w.Count != 2 || w.Sum != 200*time.Millisecond || w.Max != 100*time.Millisecond {
			t.Errorf("wait: %+v", w)
		}
		for range 2 {
			key, _ := p.queue.Get()
			p.queue.Done(key)
		}
		time.Sleep(2 * time.Second)
		got, _ = p.snapshotOne(t)
		if got.Depth != 1 || got.Adds != 5 || got.Gets != 4 || got.Delayed != 0 || got.AddRate == 0 || len(got.History) == 0 {
			t.Errorf("when the retry is due: %+v", got)
		}
	})
}

// An event, the add by its handler, the sync of that key and the calls of the sync
// are linked.
func TestSyncIsLinkedToCauseAndCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestController()
		defer p.Close()
		defer p.queue.ShutDown()
		p.recorder.Deliver(&observe.Delivered{Change: observe.Added, Object: deployment("web")}, func() { p.queue.Add("default/web") })
		got, _ := p.snapshotOne(t)
		if len(got.Waiting) != 1 || got.Waiting[0] != deployment("web") {
			t.Errorf("waiting: %v", got.Waiting)
		}
		p.recorder.Do(func() {
			key, _ := p.queue.Get()
			if _, c := p.snapshotOne(t); len(c.Running) != 1 || c.Running[0].Key != "default/web" || c.Running[0].KeyBasis != observe.BasisEvent {
				t.Errorf("in flight, before it has logged: %+v", c.Running)
			}
			var children sync.WaitGroup
			children.Go(func() {
				p.recorder.RecordCall(&observe.Called{Verb: "create", Object: deployment("child"), Status: 201})
			})
			children.Wait()
			p.recorder.RecordCall(&observe.Called{Verb: "update", Object: deployment("web"), Status: 200})
			if _, c := p.snapshotOne(t); c.Running[0].KeyBasis != observe.BasisCall {
				t.Errorf("in work, after a call: %+v", c.Running)
			}
			p.recorder.RecordLog(&observe.Logged{Message: "Finished syncing"}, "default/web", "")
			p.queue.Done(key)
			p.recorder.RecordCall(&observe.Called{Verb: "update", Object: deployment("web"), Status: 200}) // outside of a sync
		})
		delivered := p.records(t, observe.KindDelivered)
		if d := delivered[0].(*observe.Delivered); len(d.Queues) != 1 || d.Queues[0] != "web" {
			t.Errorf("delivered: %+v", d)
		}
		synced := p.records(t, observe.KindSynced)
		if len(synced) != 1 {
			t.Fatalf("%d syncs", len(synced))
		}
		s := synced[0].(*observe.Synced)
		if s.Key != "default/web" || s.KeyBasis != observe.BasisLog || s.Writes != 2 || s.Cause == 0 || s.Failed() {
			t.Errorf("sync: %+v", s)
		}
		var of []uint64
		for _, e := range p.records(t, observe.KindCalled) {
			of = append(of, e.(*observe.Called).Sync)
		}
		if len(of) != 3 || of[0] != s.ID || of[1] != s.ID || of[2] != 0 {
			t.Errorf("the calls belong to syncs %v, want sync %d", of, s.ID)
		}
	})
}

func TestFailingKeysAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestController()
		defer p.Close()
		defer p.queue.ShutDown()
		try := func(err error) {
			p.recorder.Do(func() {
				key, _ := p.queue.Get()
				line := &observe.Logged{Message: "Finished syncing"}
				failure := ""
				if err != nil {
					failure = err.Error()
					p.queue.AddRateLimited(key)
				}
				p.recorder.RecordLog(line, key, failure)
				p.queue.Done(key)
			})
			time.Sleep(2 * time.Second)
		}
		p.queue.Add("default/web")
		try(errors.New("no"))
		try(errors.New("still no"))
		_, c := p.snapshotOne(t)
		if len(c.Failing) != 1 || c.Failing[0].Times != 2 || c.Failing[0].Error != "still no" || c.Failures != 2 {
			t.Errorf("after two failures: %+v", c)
		}
		time.Sleep(2 * time.Second)
		try(nil)
		if _, c = p.snapshotOne(t); len(c.Failing) != 0 || c.Syncs != 3 {
			t.Errorf("after a success: %+v", c)
		}
	})
}

// Keys that are added again after an error are told from planned requeues, and a burst
// that is over when a snapshot is taken is still its peak.
func TestPlannedRequeuesAreNoErrorRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestController()
		defer p.Close()
		defer p.queue.ShutDown()
		for _, key := range []string{"a", "b", "c"} {
			p.queue.Add(key)
		}
		for _, failure := range []string{"", "no", ""} {
			p.recorder.Do(func() {
				key, _ := p.queue.Get()
				p.queue.AddAfter(key, time.Hour)
				p.recorder.RecordLog(&observe.Logged{Message: "Finished syncing"}, key, failure)
				p.queue.Done(key)
			})
		}
		if q, _ := p.snapshotOne(t); q.Retries != 3 || q.ErrorRetries != 1 || q.Depth != 0 || q.MaxDepth != 3 {
			t.Errorf("%d requeues, %d after errors, depth %d, peak %d", q.Retries, q.ErrorRetries, q.Depth, q.MaxDepth)
		}
		time.Sleep(1500 * time.Millisecond)
		if q, _ := p.snapshotOne(t); q.MaxDepth != 3 {
			t.Errorf("a second later: peak %d", q.MaxDepth)
		}
		time.Sleep(2 * time.Second)
		if q, _ := p.snapshotOne(t); q.MaxDepth != 0 {
			t.Errorf("three seconds later: peak %d", q.MaxDepth)
		}
	})
}

// Who keeps a control plane from being settled is named, also if it has no work left.
func TestLastActiveControllerIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestController()
		defer p.Close()
		defer p.queue.ShutDown()
		p.recorder.Deliver(&observe.Delivered{Change: observe.Added, Object: deployment("web")}, func() {})
		s, err := p.Snapshot(t.Context())
		if err != nil || s.Process.Quiet || s.Process.LastActive != "web-controller" {
			t.Errorf("right after an event: %+v, %v", s.Process, err)
		}
		time.Sleep(15 * time.Millisecond) // a wait for a settled control plane is longer
		if s, err = p.Snapshot(t.Context()); err != nil || s.Process.LastActive != "web-controller" {
			t.Errorf("15 ms after it: %+v, %v", s.Process, err)
		}
		time.Sleep(time.Second)
		if s, err = p.Snapshot(t.Context()); err != nil || !s.Process.Quiet || s.Process.LastActive != "" {
			t.Errorf("a second later: %+v, %v", s.Process, err)
		}
	})
}

// A controller that has stopped has no queues.
func TestQueuesEndWithTheirController(t *testing.T) {
	p := newTestController()
	defer p.Close()
	p.queue.Add("a")
	p.queue.ShutDown()
	p.recorder.CloseQueues()
	s, err := p.Snapshot(t.Context())
	if err != nil || len(s.Queues) != 0 {
		t.Errorf("%v, %v", s.Queues, err)
	}
	if all := p.queues.Series(); len(all) != 1 || all[0].Depth != 0 || all[0].Adds != 1 {
		t.Errorf("metrics: %+v, want what was added, and no depth", all)
	}
}
