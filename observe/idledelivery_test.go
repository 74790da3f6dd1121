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

func TestIdleHandlersShareARecord(t *testing.T) {
	o := newTestObserver(t, Options{})
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
			o := newTestObserver(t, Options{})
			o.Recorder("a").Deliver(podAdded("7"), func() {})
			other := podAdded("7")
			change(other)
			o.Recorder("b").Deliver(other, func() {})
			requireDeliveries(t, o, Query{}, []string{"a"}, []string{"b"})
		})
	}
	t.Run("no version", func(t *testing.T) {
		o := newTestObserver(t, Options{})
		o.Recorder("a").Deliver(podAdded(""), func() {})
		o.Recorder("b").Deliver(podAdded(""), func() {})
		requireDeliveries(t, o, Query{}, []string{"a"}, []string{"b"})
	})
}

// What a handler that is late receives is recorded when it receives it.
func TestLateHandlersShareNoRecord(t *testing.T) {
	var s idleDeliveries
	r := &Record{Time: time.Now(), Event: podAdded("7")}
	s.put(r)
	if got := s.find(podAdded("7"), r.Time.Add(idleShareTime)); got != r {
		t.Errorf("within a second: %v", got)
	}
	if got := s.find(podAdded("7"), r.Time.Add(idleShareTime+1)); got != nil {
		t.Errorf("later: %v", got)
	}
}

// No delivery is lost, and none is counted twice, however handlers and readers meet.
func TestSharedRecordsAreComplete(t *testing.T) {
	const controllers, events = 8, 500
	o := newTestObserver(t, Options{})
	var read []Record
	var handlers, reader sync.WaitGroup
	stop := make(chan struct{})
	reader.Go(func() {
		for q, last := (Query{Kinds: []Kind{KindDelivered}}), false; !last; {
			select {
			case <-stop:
				last = true
			default:
			}
			p, _ := o.Records(t.Context(), q)
			read, q.After = append(read, p.Records...), p.Next
		}
	})
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
	if len(times) != controllers*events {
		t.Errorf("%d deliveries of %d are recorded", len(times), controllers*events)
	}
}
