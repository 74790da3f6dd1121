package observe

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"
)

// With a flood of events and a reader that never returns, no writer blocks, the
// number of kept records stays bounded, and the counters stay exact.
func TestFloodWithStuckReaderStaysBounded(t *testing.T) {
	const writers, each, size = 8, 25_000, 1000
	o := newTestObserver(t, Options{Records: size})
	ctx, stop := context.WithCancel(t.Context())
	var stuck sync.WaitGroup
	stuck.Go(func() {
		if err := o.Wait(ctx, writers*each*10); err == nil {
			t.Error("Wait reports more records than were appended")
		}
	})
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			by := o.Recorder("c")
			for range each {
				by.Deliver(&Delivered{Change: Updated, Object: Object{Resource: "pods", Name: "x"}}, func() {})
			}
		})
	}
	wg.Wait()
	stop()
	stuck.Wait()
	s, _ := o.Snapshot(t.Context())
	if got := s.Controllers[0].Delivered; got != writers*each {
		t.Errorf("%d deliveries counted of %d", got, writers*each)
	}
	p, _ := o.Records(t.Context(), Query{})
	// Records that are appended at the same time may be in another order in the ring of causes.
	if uint64(len(p.Records))+p.Missed != writers*each || len(p.Records) < size || len(p.Records) > size+writers {
		t.Errorf("%d records and %d missed of %d", len(p.Records), p.Missed, writers*each)
	}
	if s.Journal.Dropped != writers*each-size {
		t.Errorf("%d dropped", s.Journal.Dropped)
	}
}

func BenchmarkDeliver(b *testing.B) {
	o := New(Options{})
	defer o.Close()
	by := o.Recorder("c")
	b.ReportAllocs()
	for b.Loop() {
		by.Deliver(&Delivered{Change: Updated, Object: Object{Resource: "pods", Name: "x"}}, func() {})
	}
}

// BenchmarkDeliverIdle delivers each event to 16 controllers that do nothing with it.
func BenchmarkDeliverIdle(b *testing.B) {
	o := New(Options{})
	defer o.Close()
	var all []*Recorder
	for i := range 16 {
		all = append(all, o.Recorder(string(rune('a'+i))))
	}
	version := 0
	b.ReportAllocs()
	for b.Loop() {
		version++
		event := Delivered{Change: Updated, Object: Object{Resource: "pods", Name: "x"}, ResourceVersion: strconv.Itoa(version)}
		for _, by := range all {
			by.Deliver(&event, func() {})
		}
	}
}

func BenchmarkRecordCall(b *testing.B) {
	o := New(Options{})
	defer o.Close()
	by := o.Recorder("c")
	b.ReportAllocs()
	for b.Loop() {
		by.RecordCall(&Called{Verb: "update", Object: Object{Resource: "pods", Name: "x"}, Status: 200})
	}
}

func BenchmarkSync(b *testing.B) {
	qs := NewQueues()
	o := New(Options{Queues: qs})
	defer o.Close()
	o.Recorder("c").Do(func() {
		q := qs.Open("q")
		b.ReportAllocs()
		for b.Loop() {
			q.Depth().Inc()
			q.Depth().Dec()
			q.Wait().Observe(0)
			q.Work().Observe(0.001)
		}
	})
}

func BenchmarkSnapshot(b *testing.B) {
	qs := NewQueues()
	o := New(Options{Queues: qs})
	defer o.Close()
	o.Recorder("c").Do(func() {
		for i := range 80 {
			q := qs.Open(string(rune('a' + i)))
			q.Depth().Inc()
			q.Depth().Dec()
			q.Work().Observe(time.Millisecond.Seconds())
		}
	})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := o.Snapshot(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadAgain measures how long the history and the follower take for a record of a call.
func BenchmarkReadAgain(b *testing.B) {
	const records = 10000
	o := New(Options{Records: records})
	defer o.Close()
	by := o.Recorder("c")
	pod := func(i int) Object {
		return Object{Resource: "pods", Namespace: "default", Name: "web-" + strconv.Itoa(i)}
	}
	for i := range records / 4 {
		version := strconv.Itoa(i)
		wrote := []Written{{Resource: "pods", Namespace: "default", Name: pod(i).Name, ResourceVersion: version}}
		by.RecordCall(&Called{Verb: "create", Object: pod(i), Status: 201, ResourceVersion: version, Wrote: wrote})
		by.RecordCall(&Called{Verb: "create", Object: Object{Resource: "events", Namespace: "default"}, Status: 201, Event: &KubernetesEvent{Reason: "Created"}})
		by.RecordCall(&Called{Verb: "get", Object: pod(i), Status: 200})
		by.RecordCall(&Called{Verb: "update", Object: pod(i), Subresource: "status", Status: 200, ResourceVersion: version, Wrote: wrote})
	}
	h := newHistory(o.journal, records)
	f := &follower{observer: o, gone: map[string]removedKey{}}
	for name, read := range map[string]func(){
		"history":  func() { h.next = 0; h.advance() },
		"follower": func() { f.next = 0; f.update() },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				read()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*records), "ns/record")
		})
	}
}
