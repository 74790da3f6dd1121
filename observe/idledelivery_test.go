package observe

import (
	"slices"
	"sync"
	"testing"
	"time"
)

func podAdded(version string) *Delivered {
	return &Delivered{Change: Added, Object: Object{Resource: "pods", Namespace: "default", Name: "web"}, ResourceVersion: version}
}

// deliveries returns the controllers of each recorded event.
func deliveries(t *testing.T, o *Observer, q Query) (list [][]string) {
	t.Helper()
	q.Kinds = []Kind{KindDelivered}
	p, err := o.Records(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range p.Records {
		d := r.Event.(*Delivered)
		list = append(list, append([]string{d.Controller}, d.AlsoTo...))
	}
	return list
}

func requireDeliveries(t *testing.T, o *Observer, q Query, want ...[]string) {
	t.Helper()
	if got := deliveries(t, o, q); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%+v: delivered to %v, want %v", q, got, want)
	}
}

// newSharingObserver returns an observer for which handlers are never too slow to share a record.
func newSharingObserver(t *testing.T, o Options) *Observer {
	t.Helper()
	ob := newTestObserver(t, o)
	ob.idle.within, ob.idle.handlerTime = time.Hour, time.Hour
	return ob
}

func TestIdleHandlersShareARecord(t *testing.T) {
	o := newSharingObserver(t, Options{})
	idle := func() {}
	o.Recorder("a").Deliver(podAdded("7"), idle)
	o.Recorder("b").Deliver(podAdded("7"), idle)
	o.Recorder("adds").Do(func() {
		q := o.queues.Open("q")
		o.Recorder("adds").Deliver(podAdded("7"), func() { q.Depth().Inc() })
	})
	o.Recorder("c").Deliver(podAdded("7"), idle)
	o.Recorder("a").Deliver(podAdded("7"), idle) // has it already: it was delivered twice
	o.Recorder("a").Deliver(podAdded("8"), idle)

	requireDeliveries(t, o, Query{Controller: "b"}, []string{"b"})
	requireDeliveries(t, o, Query{Controller: "adds"}, []string{"adds"})
	requireDeliveries(t, o, Query{}, []string{"a", "b", "c"}, []string{"adds"}, []string{"a"}, []string{"a"})

	// What was read does not change any more.
	o.Recorder("late").Deliver(podAdded("8"), idle)
	requireDeliveries(t, o, Query{After: 3}, []string{"a"}, []string{"late"})

	s, _ := o.Snapshot(t.Context())
	for _, c := range s.Controllers {
		if want := map[string]int64{"a": 3}[c.Name]; c.Delivered != max(want, 1) {
			t.Errorf("%s has received %d events", c.Name, c.Delivered)
		}
	}
}

func TestDifferentEventsShareNoRecord(t *testing.T) {
	for name, change := range map[string]func(*Delivered){
		"another change":  func(d *Delivered) { d.Change = Deleted },
		"another object":  func(d *Delivered) { d.Object.UID = "2" },
		"another version": func(d *Delivered) { d.ResourceVersion = "8" },
		"marked":          func(d *Delivered) { d.Deleting = true },
		"unchanged":       func(d *Delivered) { d.Unchanged = true },
		"taken over":      func(d *Delivered) { d.TakenBy = "b" },
	} {
		t.Run(name, func(t *testing.T) {
			o := newSharingObserver(t, Options{})
			o.Recorder("a").Deliver(podAdded("7"), func() {})
			other := podAdded("7")
			change(other)
			o.Recorder("b").Deliver(other, func() {})
			requireDeliveries(t, o, Query{}, []string{"a"}, []string{"b"})
		})
	}
	t.Run("no version", func(t *testing.T) {
		o := newSharingObserver(t, Options{})
		o.Recorder("a").Deliver(podAdded(""), func() {})
		o.Recorder("b").Deliver(podAdded(""), func() {})
		requireDeliveries(t, o, Query{}, []string{"a"}, []string{"b"})
	})
}

// What a handler that is late receives is recorded when it receives it, and how long a slow one takes.
func TestLateAndSlowHandlersShareNoRecord(t *testing.T) {
	o := newTestObserver(t, Options{})
	by := o.Recorder("b")
	r := &Record{Time: time.Now(), Event: podAdded("7")}
	o.journal.append(r)
	o.idle.put(r)
	last := r.Time.Add(idleShareTime)
	if got := o.idle.find(podAdded("7"), last); got != r || !o.canShare(r, by, last.Add(-maxSharedHandlerTime), last) {
		t.Errorf("within a second: %v", got)
	}
	if got := o.idle.find(podAdded("7"), last.Add(1)); got != nil {
		t.Errorf("later: %v", got)
	}
	if o.canShare(r, by, last, last.Add(1)) || o.canShare(r, by, r.Time, r.Time.Add(maxSharedHandlerTime+1)) {
		t.Error("a handler that returned later, or was slow, shares the record")
	}
}

// A record that the ring has evicted is nowhere to be read.
func TestEvictedRecordsAreNotShared(t *testing.T) {
	o := newSharingObserver(t, Options{Records: 16})
	o.Recorder("a").Deliver(podAdded("7"), func() {})
	for range 40 {
		o.Append(logEvent("x"))
	}
	o.Recorder("b").Deliver(podAdded("7"), func() {})
	requireDeliveries(t, o, Query{Controller: "b"}, []string{"b"})
}

// A reader of one controller goes on after the records that it was not shown.
func TestFollowerOfOneControllerMissesNothing(t *testing.T) {
	o := newSharingObserver(t, Options{})
	q := Query{Controller: "b", Kinds: []Kind{KindDelivered}}
	o.Recorder("a").Deliver(podAdded("7"), func() {})
	p, err := o.Records(t.Context(), q)
	if err != nil || len(p.Records) > 0 {
		t.Fatalf("%v, %v", p.Records, err)
	}
	o.Recorder("b").Deliver(podAdded("7"), func() {})
	requireDeliveries(t, o, Query{Controller: "b", After: p.Next}, []string{"b"})
}

// A handler that has added a key with a delay has done something, also if the delay cannot be read.
func TestDelayingHandlersShareNoRecord(t *testing.T) {
	o := newSharingObserver(t, Options{})
	o.Recorder("a").Deliver(podAdded("7"), func() {})
	o.Recorder("b").Do(func() {
		q := o.queues.Open("q")
		o.Recorder("b").Deliver(podAdded("7"), func() { q.Retries().Inc() })
	})
	requireDeliveries(t, o, Query{}, []string{"a"}, []string{"b"})
}

// No delivery is lost, and none is counted twice, however handlers and readers meet.
func TestSharedRecordsAreComplete(t *testing.T) {
	const controllers, events = 8, 500
	o := newSharingObserver(t, Options{})
	var read, ofOne []Record
	var handlers, reader sync.WaitGroup
	stop := make(chan struct{})
	follow := func(q Query, list *[]Record) {
		for last := false; !last; {
			select {
			case <-stop:
				last = true
			default:
			}
			p, _ := o.Records(t.Context(), q)
			*list, q.After = append(*list, p.Records...), p.Next
		}
	}
	reader.Go(func() { follow(Query{Kinds: []Kind{KindDelivered}}, &read) })
	reader.Go(func() { follow(Query{Controller: "c"}, &ofOne) })
	for i := range controllers {
		by := o.Recorder(string(rune('a' + i)))
		handlers.Go(func() {
			for e := range events {
				by.Deliver(podAdded(string(rune('0'+e))), func() {})
			}
		})
	}
	handlers.Wait()
	close(stop)
	reader.Wait()
	type delivery struct{ version, controller string }
	times := map[delivery]int{}
	for _, r := range read {
		d := r.Event.(*Delivered)
		for _, name := range append([]string{d.Controller}, d.AlsoTo...) {
			times[delivery{d.ResourceVersion, name}]++
		}
	}
	for d, n := range times {
		if n != 1 {
			t.Errorf("version %q was delivered to %s %d times", d.version, d.controller, n)
		}
	}
	if len(ofOne) != events {
		t.Errorf("%d deliveries of %d were read of one controller", len(ofOne), events)
	}
	if len(times) != controllers*events {
		t.Errorf("%d deliveries of %d are recorded", len(times), controllers*events)
	}
}
