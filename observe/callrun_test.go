package observe

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// noteWrite notes that the storage has written w.
func noteWrite(w Written) {
	write := BeginWrite()
	defer write.End()
	write.Stored(w)
}

// A call is recorded with what the storage writes for it, in whatever goroutine of
// the call that happens, and with nothing that is written later.
func TestWritesOfCalls(t *testing.T) {
	o := New(Options{})
	defer o.Close()
	r := o.Recorder("c")
	pod := func(name string) Written { return Written{Resource: "pods", Name: name, ResourceVersion: "7"} }
	end, late := make(chan struct{}), sync.WaitGroup{}
	noteWrite(pod("outside"))
	r.Call(&Called{Verb: "deletecollection"}, func() {
		noteWrite(pod("a"))
		var served sync.WaitGroup
		served.Go(func() { noteWrite(pod("b")) })
		served.Wait()
		late.Go(func() { <-end; noteWrite(pod("late")) })
	})
	close(end)
	late.Wait()
	r.Call(&Called{Verb: "get"}, func() {})
	calls := recordsOf(t, o, KindCalled)
	if got := calls[0].Event.(*Called).Wrote; !slices.Equal(got, []Written{pod("a"), pod("b")}) {
		t.Errorf("wrote %v", got)
	}
	if got := calls[1].Event.(*Called).Wrote; got != nil {
		t.Errorf("a read wrote %v", got)
	}
	var elsewhere ServedCall
	elsewhere.Serve("kubectl (admin)", func() { noteWrite(pod("a")) })
	if got, _ := elsewhere.End(nil); !slices.Equal(got, []Written{pod("a")}) {
		t.Errorf("a call that is recorded elsewhere wrote %v", got)
	}
	ran := false
	(*Recorder)(nil).Call(&Called{}, func() { ran = true })
	if !ran {
		t.Error("without a recorder the call is not made")
	}
}

// A controller is stopped while the storage writes for it: the call gets no answer, and is recorded once it is known
// what was written. Until then it is unfinished work.
func TestCallEndsDuringAWrite(t *testing.T) {
	o := newTestObserver(t, Options{})
	r := o.Recorder("c")
	a := Written{Resource: "pods", Name: "a", ResourceVersion: "7"}
	release, ended := make(chan struct{}), make(chan struct{})
	r.Call(&Called{Verb: "create", Began: time.Now()}, func() {
		began := make(chan struct{})
		go func() {
			defer close(ended)
			write := BeginWrite()
			defer noteWrite(Written{Resource: "pods", Name: "later", ResourceVersion: "8"}) // belongs to no call
			defer write.End()
			close(began)
			<-release
			write.Stored(a)
		}()
		<-began
	})
	if got := recordsOf(t, o, KindCalled); len(got) > 0 || r.snapshot().Writing != 1 {
		t.Errorf("during the write: got %v, %d unfinished", got, r.snapshot().Writing)
	}
	close(release)
	<-ended
	got := recordsOf(t, o, KindCalled)
	if len(got) != 1 || !slices.Equal(got[0].Event.(*Called).Wrote, []Written{a}) || r.snapshot().Writing != 0 {
		t.Errorf("after the write: got %+v, %d unfinished", got, r.snapshot().Writing)
	}
}

// A simulated Pod that waits for a token is unfinished work only because of the request. Leases and Events have no effects.
func TestUnansweredCallsOfControllers(t *testing.T) {
	r := newTestObserver(t, Options{}).Recorder("c")
	for _, tt := range []struct {
		call Called
		want int64
	}{
		{Called{Verb: "create", Object: Object{Resource: "serviceaccounts"}, Subresource: "token"}, 1},
		{Called{Verb: "update", Object: Object{Group: "coordination.k8s.io", Resource: "leases"}}, 0},
		{Called{Verb: "get", Object: Object{Resource: "pods"}}, 0},
	} {
		r.Call(&tt.call, func() {
			if n := r.snapshot().Writing; n != tt.want {
				t.Errorf("%+v: %d unfinished, want %d", tt.call, n, tt.want)
			}
		})
	}
}

// What goroutines write that outlive a call with an answer is not its effect: its record does not wait for them.
func TestAnsweredCallDoesNotWaitForWrites(t *testing.T) {
	o := newTestObserver(t, Options{})
	var write StorageWrite
	o.Recorder("c").Call(&Called{Verb: "create"}, func() { write = BeginWrite() })
	if got := recordsOf(t, o, KindCalled); len(got) != 0 {
		t.Errorf("no answer: got %v", got)
	}
	write.End()
	for _, status := range []int{http.StatusCreated, http.StatusConflict} {
		answered := &Called{Verb: "create"}
		o.Recorder("c").Call(answered, func() { write, answered.Status = BeginWrite(), status })
		write.Stored(Written{Resource: "pods", Name: "a"})
		write.End()
		if got := recordsOf(t, o, KindCalled); got[len(got)-1].Event.(*Called).Status != status || got[len(got)-1].Event.(*Called).Wrote != nil {
			t.Errorf("status %d: got %v", status, got)
		}
	}
}
