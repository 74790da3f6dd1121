package observe_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/ctrlplane/ctrlplane/controllers/queues"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// queueBench is a controller whose queues are client-go's.
type queueBench struct {
	*observe.Observer
	by  *observe.Recorder
	all *observe.Queues
}

func newQueueBench(t testing.TB) queueBench {
	all := observe.NewQueues()
	o := observe.New(observe.Options{Records: 1 << 16, Queues: all, Process: func() observe.Process { return observe.Process{State: observe.Ready} }})
	t.Cleanup(func() { o.Close() })
	return queueBench{o, o.Recorder("c"), all}
}

func newQueue[T comparable](b queueBench, name string) (q workqueue.TypedRateLimitingInterface[T]) {
	b.by.Do(func() {
		q = workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[T](5*time.Millisecond, time.Minute),
			workqueue.TypedRateLimitingQueueConfig[T]{Name: name, MetricsProvider: queues.Provider{Queues: b.all}})
	})
	return q
}

func (b queueBench) onlyQueue(t *testing.T) observe.Queue {
	t.Helper()
	s, err := b.Snapshot(t.Context())
	if err != nil || len(s.Queues) != 1 {
		t.Fatalf("%d queues, %v", len(s.Queues), err)
	}
	return s.Queues[0]
}

func recordedEvents[E observe.Event](t *testing.T, b queueBench) (list []E) {
	t.Helper()
	page, err := b.Records(t.Context(), observe.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range page.Records {
		if e, ok := r.Event.(E); ok {
			list = append(list, e)
		}
	}
	return list
}

// Delays are read from the goroutine's stack. This fails if a release of Go or of
// client-go prints them differently.
func TestDelayIsReadFromStack(t *testing.T) {
	type pair struct{ namespace, name string }
	t.Run("string", func(t *testing.T) { testDelays(t, "default/web") })
	t.Run("int", func(t *testing.T) { testDelays(t, 7) })
	t.Run("pointer", func(t *testing.T) { testDelays(t, &pair{"default", "web"}) })
	t.Run("interface", func(t *testing.T) { testDelays[any](t, pair{"default", "web"}) })
}

func testDelays[T comparable](t *testing.T, key T) {
	synctest.Test(t, func(t *testing.T) {
		b := newQueueBench(t)
		defer b.Close()
		q := newQueue[T](b, "q")
		defer q.ShutDown()
		want := func(when string, n int64, in time.Duration) {
			t.Helper()
			synctest.Wait()
			got := b.onlyQueue(t)
			if got.Delayed != n || n > 0 && time.Until(got.NextDue) != in || n == 0 && !got.NextDue.IsZero() {
				t.Errorf("%s: %d, the next in %v; want %d, in %v", when, got.Delayed, time.Until(got.NextDue), n, in)
			}
		}
		q.AddAfter(key, 0)
		q.AddAfter(key, -time.Second)
		want("added at once", 0, 0)
		q.AddAfter(key, time.Hour)
		q.AddAfter(key, 1234567*time.Nanosecond)
		want("added twice with a delay", 2, 1234567*time.Nanosecond)
		time.Sleep(time.Second)
		want("after the first was due", 1, time.Hour-time.Second)
		q.AddRateLimited(key)
		q.AddRateLimited(key)
		want("after two failures", 3, 5*time.Millisecond)
		time.Sleep(7 * time.Millisecond)
		want("the first is due", 3, -2*time.Millisecond) // its timer may be late
		time.Sleep(time.Second)
		want("after both were due", 1, time.Hour-2*time.Second-7*time.Millisecond)
	})
}

// If the compiler keeps the delay elsewhere, as for keys of several words, the key
// counts as due within a second.
func TestUnreadableDelayIsAssumedShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newQueueBench(t)
		defer b.Close()
		q := newQueue[struct{ namespace, name string }](b, "q")
		defer q.ShutDown()
		q.AddAfter(struct{ namespace, name string }{"default", "web"}, 10*time.Millisecond)
		if got := b.onlyQueue(t); got.Delayed != 1 || time.Until(got.NextDue) != 10*time.Millisecond && time.Until(got.NextDue) != time.Second {
			t.Errorf("%d, the next in %v", got.Delayed, time.Until(got.NextDue))
		}
	})
}

// When a key is retried is not said if the delay cannot be read.
func TestUnreadableDelayOfARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newQueueBench(t)
		defer b.Close()
		type pair struct{ namespace, name string }
		web := pair{"default", "web"}
		q := newQueue[pair](b, "q")
		defer q.ShutDown()
		const delay = 40 * time.Second
		q.Add(web)
		b.by.Do(func() {
			key, _ := q.Get()
			b.by.RecordLog(&observe.Logged{Message: "error"}, "default/web", "forbidden")
			q.AddAfter(key, delay)
			q.Done(key)
		})
		s := recordedEvents[*observe.Synced](t, b)[0]
		if !s.Retried || !s.Due.IsZero() && time.Until(s.Due) != delay {
			t.Errorf("retried: %v, in %v", s.Retried, time.Until(s.Due))
		}
		now, err := b.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if f := now.Controllers[0].Failing[0]; !f.Retried || !f.Due.Equal(s.Due) {
			t.Errorf("failing: %+v", f)
		}
		// A later sync of an unknown key may be the retry.
		time.Sleep(delay)
		b.by.Do(func() {
			key, _ := q.Get()
			q.Done(key)
		})
		time.Sleep(20 * time.Second)
		if now, err = b.Snapshot(t.Context()); err != nil || len(now.Controllers[0].Failing) > 0 {
			t.Errorf("still failing: %+v, %v", now.Controllers[0].Failing, err)
		}
	})
}

func TestRecordsShowDelayedKeysAndRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newQueueBench(t)
		defer b.Close()
		q := newQueue[string](b, "q")
		defer q.ShutDown()
		began := time.Now()
		b.by.Deliver(&observe.Delivered{Change: observe.Updated}, func() { q.AddAfter("a", time.Second) })
		time.Sleep(time.Second)
		b.by.Do(func() {
			key, _ := q.Get()
			q.AddRateLimited(key)
			q.Done(key)
		})
		d := recordedEvents[*observe.Delivered](t, b)[0]
		if len(d.Queues) != 0 || len(d.Later) != 1 || d.Later[0].Queue != "q" || !d.Later[0].Due.Equal(began.Add(time.Second)) {
			t.Errorf("delivered: %+v", d)
		}
		s := recordedEvents[*observe.Synced](t, b)[0]
		if !s.Timed || s.Add != 1 || s.Cause != 0 || !s.Retried || !s.Due.Equal(began.Add(time.Second+5*time.Millisecond)) {
			t.Errorf("synced: %+v", s)
		}
	})
}

// A key added while it is worked on is queued behind later keys: positions mislead,
// waiting times do not. If the test is preempted at the wrong moment, several adds
// match and a sync is not sure.
func TestSyncIsMatchedToItsAdd(t *testing.T) {
	testutil.RequireFineClock(t)
	for range 100 {
		if matchSyncs(t) || t.Failed() {
			return
		}
	}
	t.Error("in none of 100 runs was every sync sure")
}

// matchSyncs reports whether the cause of every sync was sure.
func matchSyncs(t *testing.T) bool {
	b := newQueueBench(t)
	q := newQueue[string](b, "q")
	defer q.ShutDown()
	seq := map[string]uint64{} // of the last delivery, by key
	deliver := func(key string) {
		b.by.Deliver(&observe.Delivered{Change: observe.Updated, Object: observe.Object{Resource: "x", Name: key}}, func() { q.Add(key) })
		page, err := b.Records(t.Context(), observe.Query{Kinds: []observe.Kind{observe.KindDelivered}})
		if err != nil {
			t.Fatal(err)
		}
		seq[key] = page.Records[len(page.Records)-1].Seq
	}
	deliver("a")
	b.by.Do(func() {
		a, _ := q.Get()
		deliver("a") // again
		deliver("b")
		deliver("c")
		q.Done(a)
		for range 3 {
			key, _ := q.Get()
			b.by.RecordLog(&observe.Logged{Message: "syncing"}, key, "")
			if key == "c" {
				q.Add("d") // by the sync
			}
			q.Done(key)
		}
		key, _ := q.Get()
		b.by.RecordLog(&observe.Logged{Message: "syncing"}, key, "")
		q.Done(key)
	})
	syncs := recordedEvents[*observe.Synced](t, b)
	if len(syncs) != 5 {
		t.Fatalf("%d syncs", len(syncs))
	}
	c := syncs[2].ID
	sure := true
	for i, want := range []struct {
		key       string
		add       uint64
		causeSync uint64
	}{{key: "b", add: 3}, {key: "c", add: 4}, {key: "a", add: 2}, {key: "d", add: 5, causeSync: c}} {
		s := syncs[i+1]
		if s.Key != want.key {
			t.Errorf("sync %d: %+v, want key %s", i+1, s, want.key)
		}
		if s.Sure && (s.Add != want.add || s.Cause != seq[want.key] || s.CauseSync != want.causeSync) {
			t.Errorf("sync %d: %+v, want add %d by event %d or sync %d", i+1, s, want.add, seq[want.key], want.causeSync)
		}
		sure = sure && s.Sure
	}
	return sure
}

// With many concurrent handlers and workers, causes marked as sure are correct.
func TestSureCausesAreCorrectUnderLoad(t *testing.T) {
	testutil.RequireFineClock(t)
	const handlers, keys, each = 8, 40, 2000
	b := newQueueBench(t)
	q := newQueue[string](b, "q")
	var workers, adders sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			b.by.Do(func() {
				for {
					key, end := q.Get()
					if end {
						return
					}
					b.by.RecordLog(&observe.Logged{Message: "syncing"}, key, "")
					q.Done(key)
				}
			})
		})
	}
	for h := range handlers {
		adders.Go(func() {
			for i := range each {
				key := strconv.Itoa((i*7 + h*13) % keys)
				b.by.Deliver(&observe.Delivered{Change: observe.Updated, Object: observe.Object{Resource: "x", Name: key}}, func() { q.Add(key) })
			}
		})
	}
	adders.Wait()
	q.ShutDownWithDrain()
	workers.Wait()
	byAdd := map[uint64]*observe.Delivered{}
	for _, d := range recordedEvents[*observe.Delivered](t, b) {
		for _, n := range d.Adds {
			byAdd[n] = d
		}
	}
	syncs, sure := recordedEvents[*observe.Synced](t, b), 0
	for _, s := range syncs {
		if !s.Sure {
			continue
		}
		sure++
		if d := byAdd[s.Add]; d == nil || d.Object.Name != s.Key {
			t.Errorf("sync of %s was matched to add %d, by the event of %+v", s.Key, s.Add, d)
		}
	}
	t.Logf("%d of %d syncs have a sure cause", sure, len(syncs))
	if len(syncs) < keys || sure*2 < len(syncs) {
		t.Errorf("%d of %d syncs have a sure cause", sure, len(syncs))
	}
}

func TestSnapshotHasSortedTimers(t *testing.T) {
	now := time.Now()
	at := func(i int) observe.Timer {
		return observe.Timer{Controller: "c", What: fmt.Sprint(i), Due: now.Add(time.Duration(i))}
	}
	o := observe.New(observe.Options{Timers: func() []observe.Timer { return []observe.Timer{at(2), at(1)} }})
	defer o.Close()
	s, err := o.Snapshot(t.Context())
	if err != nil || !slices.Equal(s.Timers, []observe.Timer{at(1), at(2)}) {
		t.Errorf("got %v, %v", s.Timers, err)
	}
}

// A timer that is awaited keeps its controller busy, however late it is due.
func TestAwaitedTimers(t *testing.T) {
	due := time.Now().Add(time.Hour)
	o := observe.New(observe.Options{Timers: func() []observe.Timer {
		return []observe.Timer{{Controller: "a", Due: due, Awaited: true}, {Controller: "b", Due: due}}
	}})
	defer o.Close()
	s, err := o.Snapshot(t.Context())
	if err != nil || !slices.Equal(s.Process.Busy, []string{"a"}) {
		t.Errorf("busy: %q, %v", s.Process.Busy, err)
	}
}

// While a controller is busy, what waits after a failure is as of a second ago at most.
func TestTimersWhileBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		var depth atomic.Int64 // the sampler asks, too
		restart := observe.Timer{Controller: "c", What: "a", Due: time.Now().Add(2500 * time.Millisecond), Reason: "CrashLoopBackOff"}
		o := observe.New(observe.Options{
			MoreQueues: func() []observe.Queue { return []observe.Queue{{Controller: "c", Name: "q", Depth: depth.Load()}} },
			Timers: func() []observe.Timer {
				asked++
				return []observe.Timer{{Controller: "c", What: "b", Due: restart.Due}, restart}
			},
		})
		defer o.Close()
		for _, step := range []struct {
			after        time.Duration
			depth        int64
			timers, asks int
		}{{0, 0, 2, 1}, {0, 1, 1, 1}, {999 * time.Millisecond, 1, 1, 1}, {time.Millisecond, 1, 1, 2}, {time.Second, 1, 1, 3}, {500 * time.Millisecond, 1, 0, 3}, {0, 0, 2, 4}} {
			time.Sleep(step.after)
			depth.Store(step.depth)
			s, err := o.Snapshot(t.Context())
			if err != nil || len(s.Timers) != step.timers || asked != step.asks || step.timers == 1 && s.Timers[0] != restart {
				t.Errorf("%+v: %d questions, %v, %v", step, asked, s.Timers, err)
			}
		}
	})
}

// The cost of adding a key with a delay, including reading the stack.
func BenchmarkAddAfter(b *testing.B) {
	of := newQueueBench(b)
	q := newQueue[string](of, "q")
	defer q.ShutDown()
	b.ReportAllocs()
	for b.Loop() {
		q.AddAfter("key", 0)
	}
}

// An autoscaler reads and writes the scale of its target, whose name is not its key.
func TestScaleIsNotTheKey(t *testing.T) {
	b := newQueueBench(t)
	q := newQueue[string](b, "horizontalpodautoscaler")
	defer q.ShutDown()
	q.Add("default/autoscaler")
	b.by.Do(func() {
		key, _ := q.Get()
		for _, c := range []observe.Called{
			{Verb: "get", Subresource: "scale", Object: observe.Object{Resource: "deployments", Namespace: "default", Name: "web"}},
			{Verb: "update", Subresource: "scale", Object: observe.Object{Resource: "deployments", Namespace: "default", Name: "web"}},
			{Verb: "update", Subresource: "status", Object: observe.Object{Resource: "horizontalpodautoscalers", Namespace: "default", Name: "autoscaler"}},
		} {
			b.by.RecordCall(&c)
		}
		q.Done(key)
	})
	if s := recordedEvents[*observe.Synced](t, b); len(s) != 1 || s[0].Key != "default/autoscaler" || s[0].KeyBasis != observe.BasisCall {
		t.Errorf("got %+v", s[0])
	}
}

// A sync that has repeated a refused call with success has not failed, although its key is added again later.
func TestSyncThatRecoveredHasNotFailed(t *testing.T) {
	web := observe.Object{Group: "apps", Resource: "replicasets", Namespace: "default", Name: "web"}
	other := web
	other.Name = "other"
	conflict := observe.Called{Verb: "update", Subresource: "status", Object: web, Status: 409, Conflict: true, Error: "the object has been modified"}
	absent := observe.Called{Verb: "get", Object: web, Status: 404, Error: "not found"}
	for name, tc := range map[string]struct {
		calls []observe.Called
		want  string
	}{
		"repeated":        {[]observe.Called{conflict, {Verb: "update", Subresource: "status", Object: web, Status: 200}}, ""},
		"created":         {[]observe.Called{absent, {Verb: "create", Object: web, Status: 201}}, ""},
		"only read again": {[]observe.Called{conflict, {Verb: "get", Subresource: "status", Object: web, Status: 200}}, conflict.Error},
		"another object":  {[]observe.Called{conflict, {Verb: "update", Subresource: "status", Object: other, Status: 200}}, conflict.Error},
		"another part":    {[]observe.Called{conflict, {Verb: "update", Object: web, Status: 200}}, conflict.Error},
		"failed again":    {[]observe.Called{conflict, {Verb: "update", Subresource: "status", Object: web, Status: 200}, absent}, absent.Error},
	} {
		b := newQueueBench(t)
		q := newQueue[string](b, "replicaset")
		q.Add("default/web")
		b.by.Do(func() {
			key, _ := q.Get()
			for _, c := range tc.calls {
				b.by.RecordCall(&c)
			}
			q.AddAfter(key, time.Minute)
			q.Done(key)
		})
		q.ShutDown()
		if s := recordedEvents[*observe.Synced](t, b); len(s) != 1 || s[0].Error != tc.want || !s[0].Retried {
			t.Errorf("%s: %+v, want the error %q", name, s[0], tc.want)
		}
	}
}

// A sync of a key that the queue's timer has added again is of the key that an earlier sync has
// requeued for that time, although nothing else names it: the HPA controller does not.
func TestKeyOfARequeuedSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newQueueBench(t)
		defer b.Close()
		q := newQueue[string](b, "hpa")
		defer q.ShutDown()
		add := func(name string) {
			o := observe.Object{Resource: "horizontalpodautoscalers", Namespace: "default", Name: name}
			b.by.Deliver(&observe.Delivered{Change: observe.Added, Object: o}, func() { q.Add(o.Key()) })
		}
		sync := func(after time.Duration) {
			b.by.Do(func() {
				key, _ := q.Get()
				b.by.RecordCall(&observe.Called{Verb: "get", Subresource: "scale", Object: observe.Object{Resource: "deployments", Namespace: "default", Name: "missing"}, Status: 404, Error: key + " has no target"})
				q.AddAfter(key, after)
				q.Done(key)
			})
		}
		const period = 15 * time.Second
		resync := func() {
			o := observe.Object{Resource: "horizontalpodautoscalers", Namespace: "default", Name: "a"}
			b.by.Deliver(&observe.Delivered{Change: observe.Resynced, Object: o}, func() { q.AddAfter(o.Key(), period) })
		}
		add("a")
		time.Sleep(time.Microsecond)
		sync(period)
		time.Sleep(time.Millisecond)
		add("b")
		time.Sleep(time.Microsecond)
		sync(period)
		add("a") // its second delay ends after that of b begins to wait: the queue keeps the first
		time.Sleep(time.Microsecond)
		sync(period)
		for range 2 {
			time.Sleep(period - 100*time.Millisecond)
			resync() // the queue keeps the earlier delay
			time.Sleep(99 * time.Millisecond)
			for range 2 {
				sync(period)
				time.Sleep(time.Millisecond)
			}
		}
		list := recordedEvents[*observe.Synced](t, b)
		if len(list) != 7 {
			t.Fatalf("%d syncs", len(list))
		}
		for i, s := range list {
			if want, _, _ := strings.Cut(s.Error, " "); s.Key != want || s.KeyBasis.Certain() || (i > 2) != s.Timed {
				t.Errorf("sync %d of %s: %+v", i, want, s)
			}
		}
		snapshot, _ := b.Snapshot(t.Context())
		for _, f := range snapshot.Controllers[0].Failing {
			if want := map[string]int{"default/a": 4, "default/b": 3}[f.Key]; f.Times != want {
				t.Errorf("%s failed %d times, want %d", f.Key, f.Times, want)
			}
		}
	})
}

func TestQueuesOfAllSourcesAreSorted(t *testing.T) {
	o := observe.New(observe.Options{MoreQueues: func() []observe.Queue {
		return []observe.Queue{{Controller: "b", Name: "y"}, {Controller: "a", Name: "z"}, {Controller: "b", Name: "x"}}
	}})
	defer o.Close()
	s, err := o.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range s.Queues {
		got = append(got, q.Controller+"/"+q.Name)
	}
	if want := []string{"a/z", "b/x", "b/y"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestCountersOfARestartedController: they go on, as those of its syncs and the metrics do. What the stopped queue held is not
// in the new one.
func TestCountersOfARestartedController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newQueueBench(t)
		defer b.Close()
		run := func() {
			q := newQueue[string](b, "q")
			defer q.ShutDown()
			for range 3 {
				q.AddAfter("default/web", time.Millisecond)
				key, _ := q.Get()
				q.Done(key)
			}
			q.Add("default/left")
			b.by.CloseQueues()
		}
		run()
		time.Sleep(time.Second)
		synctest.Wait()
		q := newQueue[string](b, "q")
		defer q.ShutDown()
		q.Add("default/web")
		time.Sleep(time.Second) // until the next sample
		synctest.Wait()
		v := b.onlyQueue(t)
		if v.Adds != 5 || v.Gets != 3 || v.Done != 3 || v.Retries != 3 || v.Work.Total.Count != 3 || v.Wait.Total.Count != 3 {
			t.Errorf("counters: %+v", v)
		}
		if v.Depth != 1 || v.InFlight != 0 {
			t.Errorf("depth %d, in flight %d; want what the new queue has", v.Depth, v.InFlight)
		}
		if v.AddRate != 1 {
			t.Errorf("%v adds/s; want those of the new queue", v.AddRate)
		}
		if s := b.all.Series()[0]; s.Adds != v.Adds || s.Retries != v.Retries {
			t.Errorf("the metrics have %d adds and %d retries, the status %d and %d", s.Adds, s.Retries, v.Adds, v.Retries)
		}
	})
}
