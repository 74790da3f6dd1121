package observe

import (
	"slices"
	"testing"
	"time"
)

// Users of a recorder do not check whether they have one.
func TestNilRecorderRecordsNothing(t *testing.T) {
	var none *Observer
	r := none.Recorder("c")
	if r != nil {
		t.Fatalf("a nil observer has the recorder %v", r)
	}
	var ran []string
	r.Do(func() {
		ran = append(ran, "Do")
		if currentRecorder() != nil {
			t.Error("a nil recorder labels goroutines")
		}
	})
	r.Deliver(&Delivered{}, func() { ran = append(ran, "Deliver") })
	r.Call(&Called{Verb: "create"}, func() { ran = append(ran, "Call") })
	if want := []string{"Do", "Deliver", "Call"}; !slices.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
	r.SetState(ControllerChanged{State: "running"})
	r.AddWatch("pods")
	r.RecordCall(&Called{Verb: "create"})
	r.RecordLog(&Logged{Message: "m"}, "key", "failure")
	r.CloseQueues()

	h := r.AddHandler("pods")
	if h != nil {
		t.Errorf("a nil recorder has the handler %v", h)
	}
	h.SetInformer(InformerState{})
	h.MarkDelivered("7", time.Now())
	h.Close()
}

// Within the work of another recorder, a nil one leaves the attribution alone.
func TestNilRecorderKeepsTheOuterScope(t *testing.T) {
	a := newTestObserver(t, Options{}).Recorder("a")
	a.Do(func() {
		(*Recorder)(nil).Do(func() {
			if currentRecorder() != a {
				t.Error("the outer scope is not in effect")
			}
		})
	})
}
