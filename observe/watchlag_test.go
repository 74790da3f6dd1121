package observe

import (
	"testing"
	"testing/synctest"
	"time"
)

// fakeInformer is an informer by hand.
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
		want("its informer has not had the write", true)
		i.version = "5"
		want("it has not been told what there was", true)
		i.listed = true
		want("it has been told what there was", false)

		o.NoteVersion("pods", 9)
		o.NoteVersion("pods", 8) // late
		o.NoteVersion("nodes", 11)
		want("after another write", true)
		i.version = "9"
		h.MarkDelivered("8")
		want("told of the write before", true)
		h.MarkDelivered("9")
		h.MarkDelivered("")
		want("told of it", false)
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
		want("nothing has come for long", false)

		o.NoteVersion("pods", 20)
		want("a stuck informer", true)
		o.ForgetResource("pods")
		want("a resource that there is no more", false)
		o.NoteVersion("pods", 21)
		want("and that is there again", true)
		h.Close()
		want("closed", false)
	})
}

// A handler that is added later has had the writes before it.
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
		settled("a write that nobody is told of", true)
		h := by.AddHandler("pods")
		o.NoteVersion("pods", 2)
		settled("a write that somebody is to be told of", false, "c")
		by.Deliver(&Delivered{Change: Added, Object: Object{Resource: "pods"}}, func() {})
		h.MarkDelivered("2")
		settled("just told", false)
		time.Sleep(busyQuietTime + 1)
		settled("told", true)

		call := &Called{Verb: "create", Object: Object{Resource: "pods"}}
		ended := by.BeginCall(call)
		settled("a write on its way", false, "c")
		ended()
		for _, c := range []*Called{{Verb: "get", Object: Object{Resource: "pods"}}, {Verb: "update", Object: Object{Resource: "leases"}}} {
			by.BeginCall(c)
			settled(c.Verb+" of "+c.Object.Resource, true)
		}
	})
}
