package observe

import (
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// quietBench is a controller that adds a key to its quiet queue with each event.
type quietBench struct {
	t            *testing.T
	o            *Observer
	by           *Recorder
	quiet, other QueueMetrics
}

func newQuietBench(t *testing.T) quietBench {
	o := newSharingObserver(t, Options{})
	b := quietBench{t: t, o: o, by: o.Recorder("gc")}
	b.by.SkipIdleSyncsOf("graph_changes")
	(*Recorder)(nil).SkipIdleSyncsOf("graph_changes")
	b.by.Do(func() { b.quiet, b.other = o.queues.Open("graph_changes"), o.queues.Open("attempt_to_delete") })
	return b
}

func (b quietBench) deliver(d *Delivered) { b.by.Deliver(d, func() { b.quiet.Depth().Inc() }) }

// sync works on the key that was added last.
func (b quietBench) sync(work func()) {
	b.by.Do(func() {
		b.quiet.Depth().Dec()
		b.quiet.Wait().Observe(0)
		work()
		b.quiet.Work().Observe(0)
	})
}

func (b quietBench) synced() (list []*Synced) {
	for _, r := range recordsOf(b.t, b.o, KindSynced) {
		list = append(list, r.Event.(*Synced))
	}
	return list
}

// What a queue to which each event adds a key does without an effect is not recorded, but counted.
func TestIdleSyncsOfQuietQueues(t *testing.T) {
	b := newQuietBench(t)
	b.o.Recorder("a").Deliver(podAdded("7"), func() {})
	b.deliver(podAdded("7"))
	b.sync(func() {})
	b.deliver(podAdded("8"))
	b.sync(func() {})
	b.o.Recorder("a").Deliver(podAdded("8"), func() {})
	requireDeliveries(t, b.o, Query{}, []string{"a", "gc"}, []string{"gc", "a"})
	for _, r := range recordsOf(t, b.o, KindDelivered) {
		if d := r.Event.(*Delivered); len(d.Queues)+len(d.Adds) > 0 {
			t.Errorf("the event names keys: %+v", d)
		}
	}
	if list := b.synced(); len(list) > 0 {
		t.Errorf("%d idle syncs are recorded", len(list))
	}
	if c := snapshotOf(t, b.o, "gc"); c.Syncs != 2 || c.Delivered != 2 {
		t.Errorf("%d syncs and %d events are counted", c.Syncs, c.Delivered)
	}
}

// A sync that has done something is recorded with its cause.
func TestEffectsOfQuietQueues(t *testing.T) {
	for name, work := range map[string]func(quietBench){
		"add":   func(b quietBench) { b.other.Depth().Inc() },
		"line":  func(b quietBench) { b.by.RecordLog(&Logged{Message: "x"}, "", "") },
		"error": func(b quietBench) { b.by.RecordLog(&Logged{Message: "x"}, "", "failed") },
		"read":  func(b quietBench) { b.by.RecordCall(&Called{Verb: "get", Status: 200}) },
		"write": func(b quietBench) { b.by.RecordCall(&Called{Verb: "update", Status: 200}) },
		"retry": func(b quietBench) { b.quiet.Retries().Inc() },
		"later": func(b quietBench) { b.other.Retries().Inc() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newQuietBench(t)
			b.o.Recorder("a").Deliver(podAdded("7"), func() {})
			b.deliver(podAdded("7"))
			b.sync(func() { work(b) })
			if list := b.synced(); len(list) != 1 || list[0].Cause != 1 || !list[0].Sure {
				t.Errorf("got %+v, want a sync because of the first record", list)
			}
		})
	}
}

// A key that has failed is known to fail until a sync has succeeded.
func TestFailuresOfQuietQueues(t *testing.T) {
	b := newQuietBench(t)
	failing := func() int { return len(snapshotOf(t, b.o, "gc").Failing) }
	b.deliver(podAdded("7"))
	b.sync(func() { b.by.RecordLog(&Logged{Message: "x"}, "default/web", "failed") })
	if n := failing(); n != 1 {
		t.Errorf("%d keys fail", n)
	}
	b.deliver(podAdded("8"))
	b.sync(func() {})
	if n := failing(); n != 0 {
		t.Errorf("%d keys fail after the success", n)
	}
}

// The event of a deletion names its keys, and so does one whose key has already had an effect when its handler returns.
func TestEventsThatNameKeysOfQuietQueues(t *testing.T) {
	b := newQuietBench(t)
	deleted, marked := podAdded("7"), podAdded("8")
	deleted.Change, marked.Deleting = Deleted, true
	b.deliver(deleted)
	b.deliver(marked)
	b.by.Deliver(podAdded("9"), func() {
		b.quiet.Depth().Inc()
		b.sync(func() { b.other.Depth().Inc() })
	})
	b.by.Deliver(podAdded("10"), func() {
		b.quiet.Depth().Inc()
		b.sync(func() {})
	})
	var got [][]uint64
	for _, r := range recordsOf(t, b.o, KindDelivered) {
		got = append(got, r.Event.(*Delivered).Adds)
	}
	if want := [][]uint64{{1}, {2}, {3}, nil}; !reflect.DeepEqual(got, want) {
		t.Errorf("the events name %v, want %v", got, want)
	}
}

// A sync that has an effect while the event that has added its key is being recorded waits for that record.
func TestEffectWhileTheEventIsRecorded(t *testing.T) {
	b := newQuietBench(t)
	b.o.Recorder("a").Deliver(podAdded("7"), func() {})
	shared := b.o.idle.slot("7").Load().idle
	shared.mu.Lock()
	var adding atomic.Pointer[delivery]
	var delivered sync.WaitGroup
	delivered.Go(func() {
		b.by.Deliver(podAdded("7"), func() {
			b.quiet.Depth().Inc()
			adding.Store(currentScope().delivery)
		})
	})
	await := func(condition func() bool) {
		for !condition() {
			runtime.Gosched()
		}
	}
	await(func() bool { d := adding.Load(); return d != nil && d.effect.Load() == effectDecided })
	before := snapshotOf(t, b.o, "gc").Syncs
	var synced sync.WaitGroup
	synced.Go(func() { b.sync(func() { b.other.Depth().Inc() }) })
	for _, q := range b.o.queues.sorted() {
		if q.name == "graph_changes" {
			await(func() bool { return q.done.Load() == 1 })
		}
	}
	if n := snapshotOf(t, b.o, "gc").Syncs; n != before {
		t.Errorf("%d syncs are recorded before their event", n-before)
	}
	shared.mu.Unlock()
	delivered.Wait()
	synced.Wait()
	if list := b.synced(); len(list) != 1 || list[0].Cause != 1 || !list[0].Sure {
		t.Errorf("got %+v, want a sync because of the first record", list)
	}
}
