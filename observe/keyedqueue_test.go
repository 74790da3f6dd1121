package observe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

func recordsOf(t *testing.T, o *Observer, kinds ...Kind) []Record {
	t.Helper()
	page, err := o.Records(context.Background(), Query{Kinds: kinds, Reads: true})
	if err != nil {
		t.Fatal(err)
	}
	return page.Records
}

// The sync of a key is joined to the event whose handler added it, and to its calls,
// also those that other goroutines make.
func TestKeyedQueue(t *testing.T) {
	o := New(Options{})
	defer o.Close()
	r := o.Recorder("scheduler")
	q := r.KeyedQueue("active")
	if q != r.KeyedQueue("active") {
		t.Fatal("not the same queue")
	}
	var added *QueuedKey
	r.Deliver(&Delivered{Change: Added, Object: Object{Resource: "pods", Name: "a"}}, func() { added = q.Add(time.Time{}) })

	s := q.Begin("default/a", added)
	leave := s.Enter()
	r.RecordCall(&Called{Verb: "get", Status: 200})
	var binding sync.WaitGroup
	binding.Go(func() { r.RecordCall(&Called{Verb: "create", Status: 201}) })
	leave()
	binding.Wait()
	if c := snapshotOf(t, o, "scheduler"); len(c.Running) != 1 || c.Running[0].Key != "default/a" {
		t.Errorf("running: %+v", c.Running)
	}
	retry := func() *QueuedKey { defer s.Enter()(); return q.Add(time.Time{}) }()
	s.Requeued(time.Now())
	s.End("no node")
	s.End("twice")
	r.RecordCall(&Called{Verb: "create", Status: 201}) // not of the sync

	delivered := recordsOf(t, o, KindDelivered)[0]
	d := delivered.Event.(*Delivered)
	if !slices.Equal(d.Queues, []string{"active"}) || !slices.Equal(d.Adds, []uint64{1}) {
		t.Errorf("delivered: %+v", d)
	}
	synced := recordsOf(t, o, KindSynced)
	first := synced[0].Event.(*Synced)
	if len(synced) != 1 || first.Cause != delivered.Seq || first.Add != 1 || !first.Sure || first.Key != "default/a" || first.KeyBasis != BasisQueue ||
		first.Error != "no node" || !first.Retried || first.Writes != 1 || first.Reads != 1 {
		t.Errorf("synced: %+v", first)
	}
	var of []uint64
	for _, c := range recordsOf(t, o, KindCalled) {
		of = append(of, c.Event.(*Called).Sync)
	}
	if !slices.Equal(of, []uint64{first.ID, first.ID, 0}) {
		t.Errorf("calls of syncs %v", of)
	}
	q.Begin("default/a", retry).End("")
	if again := recordsOf(t, o, KindSynced)[1].Event.(*Synced); again.CauseSync != first.ID || again.Add != 2 {
		t.Errorf("after a retry: %+v", again)
	}
	later := q.Add(time.Time{}) // by a goroutine without an event
	later.Because(added)
	q.Begin("default/a", later).End("")
	if late := recordsOf(t, o, KindSynced)[2].Event.(*Synced); late.Cause != delivered.Seq || late.Add != 3 {
		t.Errorf("because of an earlier add: %+v", late)
	}
	if n := q.Snapshot(time.Now()); n.Adds != 3 || n.Gets != 3 || n.Done != 3 || n.InFlight != 0 {
		t.Errorf("numbers: %+v", n)
	}
	var none *Recorder
	none.KeyedQueue("q").Begin("k", none.KeyedQueue("q").Add(time.Time{})).End("")
}

func snapshotOf(t *testing.T, o *Observer, controller string) Controller {
	t.Helper()
	s, err := o.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(s.Controllers, func(c Controller) bool { return c.Name == controller })
	if i < 0 {
		t.Fatalf("no controller %s", controller)
	}
	return s.Controllers[i]
}

// A key that was delayed has waited since it was due, not since it was added.
func TestKeyedQueueDelay(t *testing.T) {
	o := New(Options{})
	defer o.Close()
	q := o.Recorder("kubelet").KeyedQueue("pods")
	q.Begin("a", q.Add(time.Now().Add(time.Hour))).End("")
	if s := recordsOf(t, o, KindSynced)[0].Event.(*Synced); s.Waited != 0 {
		t.Errorf("waited %s", s.Waited)
	}
}

// What the API server repeats without an effect fills no ring, unless it fails.
func TestSkipIdleSyncs(t *testing.T) {
	o := New(Options{})
	defer o.Close()
	r := o.Recorder("kube-apiserver")
	r.SkipIdleSyncs()
	(*Recorder)(nil).SkipIdleSyncs()
	sync := func(failure string, writes int) {
		s := r.KeyedQueue("q").Begin("k", nil)
		leave := s.Enter()
		for range writes {
			r.RecordCall(&Called{Verb: "update", Status: 200})
		}
		leave()
		s.End(failure)
	}
	sync("", 0)
	sync("", 1)
	if n := len(recordsOf(t, o, KindSynced)); n != 1 {
		t.Errorf("%d syncs are recorded, want the one with a write", n)
	}
	sync("no answer", 0)
	sync("", 0)
	if n := len(recordsOf(t, o, KindSynced)); n != 3 {
		t.Errorf("%d syncs are recorded, want also the failure and its end", n)
	}
	if c := snapshotOf(t, o, "kube-apiserver"); c.Syncs != 4 {
		t.Errorf("%d syncs are counted", c.Syncs)
	}
}

// All syncs in flight are known, however many workers there are.
func TestManyWorkers(t *testing.T) {
	o := New(Options{})
	defer o.Close()
	r := o.Recorder("c")
	q := r.KeyedQueue("q")
	reported := r.ReportedQueue("q")
	const workers = 3 * runningSlots
	var syncs []*KeyedSync
	for i := range workers {
		syncs = append(syncs, q.Begin(fmt.Sprint("default/", i), nil))
	}
	reported.Begin(reported.NewSync(), "default/reported", time.Now())
	last := syncs[workers-1]
	running := func() (keys []string) {
		for _, s := range snapshotOf(t, o, "c").Running {
			keys = append(keys, s.Key)
		}
		return keys
	}
	if keys := running(); len(keys) != workers+1 || !slices.Contains(keys, "default/191") || !slices.Contains(keys, "default/reported") {
		t.Errorf("%d syncs in flight of %d are known: %q", len(keys), workers+1, keys)
	}
	now := time.Now()
	var ages time.Duration
	for _, s := range syncs {
		ages += now.Sub(s.run.started)
	}
	if v := q.Snapshot(now); v.Unfinished < ages {
		t.Errorf("the syncs in flight last %s together, not %s", ages, v.Unfinished)
	}
	last.End("")
	reported.Abandon(last.run.id + 1)
	if keys := running(); len(keys) != workers-1 || slices.Contains(keys, "default/191") || slices.Contains(keys, "default/reported") {
		t.Errorf("after the end of two: %d: %q", len(keys), keys)
	}
	for _, s := range syncs {
		s.End("")
	}
	if keys := running(); len(keys) != 0 {
		t.Errorf("after all have ended: %q", keys)
	}
}
