package observe

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// fakeInformer is an informer with fixed answers.
type fakeInformer struct {
	version string
	listed  bool
}

func (i *fakeInformer) state() InformerState {
	return InformerState{Version: func() string { return i.version }, Listed: func() bool { return i.listed }}
}

func lagOf(t *testing.T, o *Observer) []WatchLag {
	t.Helper()
	s, err := o.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Controllers {
		if len(c.Behind) > 0 {
			return c.Behind
		}
	}
	return nil
}

func TestHandlerLagsUntilEventIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newTestObserver(t, Options{Process: func() Process { return Process{State: Ready} }})
		o.NoteVersion("pods", 5)
		h := o.Recorder("c").AddHandler("pods")
		defer h.Close()
		i := &fakeInformer{version: "4"}
		want := func(when string, behind bool) {
			t.Helper()
			if got := lagOf(t, o); behind != (len(got) == 1 && got[0].Resource == "pods") {
				t.Errorf("%s: behind: %v, want %v", when, got, behind)
			}
		}
		want("before it is added", true)
		h.SetInformer(i.state())
		want("its informer has not received the write", true)
		i.version = "5"
		want("the initial list is not delivered", true)
		i.listed = true
		want("the initial list is delivered", false)

		o.NoteVersion("pods", 9)
		o.NoteVersion("pods", 8) // out of order
		o.NoteVersion("nodes", 11)
		want("after another write", true)
		i.version = "9"
		h.MarkDelivered("8", time.Now())
		want("the previous write is delivered", true)
		h.MarkDelivered("9", time.Now())
		h.MarkDelivered("", time.Now())
		want("the write is delivered", false)
		if got := lagOf(t, o); got != nil {
			t.Errorf("behind: %v", got)
		}

		o.NoteVersion("pods", 12)
		time.Sleep(time.Hour)
		want("a stuck informer", true)
		i.version = "13" // a new list, in which a deletion is missing
		want("after a new list", false)
		o.NoteVersion("pods", 13)
		want("a write right now", true)
		time.Sleep(lagGrace)
		want("no event for a long time", false)

		o.NoteVersion("pods", 20)
		want("a stuck informer", true)
		o.ForgetResource("pods")
		want("a resource that is no longer served", false)
		o.NoteVersion("pods", 21)
		want("and is served again", true)
		h.Close()
		want("closed", false)
	})
}

// A new handler lacks no earlier writes.
func TestSettledWaitsForLagAndWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newTestObserver(t, Options{Process: func() Process { return Process{State: Ready} }})
		by := o.Recorder("c")
		settled := func(when string, want bool, busy ...string) {
			t.Helper()
			s, err := o.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if s.Process.Settled != want || len(s.Process.Busy) != len(busy) || len(busy) > 0 && s.Process.Busy[0] != busy[0] {
				t.Errorf("%s: settled %v, busy %v", when, s.Process.Settled, s.Process.Busy)
			}
		}
		settled("at rest", true)
		o.NoteVersion("pods", 1)
		settled("a write without a handler", true)
		h := by.AddHandler("pods")
		o.NoteVersion("pods", 2)
		settled("a write that is not delivered yet", false, "c")
		by.Deliver(&Delivered{Change: Added, Object: Object{Resource: "pods"}}, func() {})
		h.MarkDelivered("2", time.Now())
		settled("just delivered", false)
		time.Sleep(busyQuietTime + 1)
		settled("delivered", true)

		for _, state := range []string{"building", "stopping", "unknown"} {
			by.SetState(ControllerChanged{State: state})
			time.Sleep(busyQuietTime + 1)
			settled(state, false, "c")
		}
		by.SetState(ControllerChanged{State: "running"})
		time.Sleep(busyQuietTime + 1)
		settled("started", true)

		// As the scheduler's, while it waits to repeat a refused write.
		sync := by.KeyedQueue("active").Begin("default/web", nil)
		time.Sleep(busyQuietTime + 1)
		settled("a sync that does nothing", false, "c")
		sync.End("")
		time.Sleep(busyQuietTime + 1)
		settled("its end", true)

		for _, c := range []*Called{{Verb: "get", Object: Object{Resource: "pods"}}, {Verb: "update", Object: Object{Group: "coordination.k8s.io", Resource: "leases"}}} {
			by.Call(c, func() { settled(c.Verb+" of "+c.Object.Resource, true) })
		}
		for _, o := range append(namesakes(), Object{Resource: "pods"}) {
			by.Call(&Called{Verb: "create", Object: o}, func() { settled("a write of "+o.GroupResource(), false, "c") })
		}
	})
}

// With an etcd cluster nothing tells which writes informers lack: an idle process may wait for one.
func TestSettledWithUnknownVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newTestObserver(t, Options{Process: func() Process { return Process{State: Ready} }, VersionsUnknown: true})
		o.Recorder("c").Call(&Called{Verb: "create", Object: Object{Resource: "pods"}}, func() {})
		for _, want := range []bool{false, true} {
			time.Sleep(busyQuietTime/2 + 1)
			if s, err := o.Snapshot(t.Context()); err != nil || s.Process.Settled != want {
				t.Errorf("settled %v, want %v; %v", s.Process.Settled, want, err)
			}
		}
	})
}

// While a snapshot is restored, or a new leader starts, no controller runs, so that none has work.
func TestSettledWaitsForControllers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Process{State: Ready}
		o := newTestObserver(t, Options{Process: func() Process { return p }})
		time.Sleep(busyQuietTime + 1)
		for _, of := range []Process{{Restoring: true}, {TakingOver: true}, {}} {
			p.Restoring, p.TakingOver = of.Restoring, of.TakingOver
			busy := of.Restoring || of.TakingOver
			s, err := o.Snapshot(t.Context())
			if err != nil || s.Process.Settled == busy || slices.Contains(s.Process.Busy, "ctrlplane") != busy {
				t.Errorf("%+v: %+v, %v", of, s.Process, err)
			}
		}
	})
}
