package observe

import (
	"fmt"
	"testing"
	"time"
)

// What another process reports may have any name.
func TestReportedKindsAreBounded(t *testing.T) {
	o := New(Options{})
	defer o.Close()
	r := o.Recorder("operator")
	for i := range 2 * maxKinds {
		object := Object{Resource: fmt.Sprintf("r%d", i)}
		r.RecordDelivery(&Delivered{Object: object, Change: Added}, time.Now())
		r.RecordReportedCall(&Called{Controller: "operator", Verb: "create", Object: object, Status: 404}, time.Now())
	}
	c := r.snapshot()
	if len(c.Watches) != maxKinds || len(c.Writes) != maxKinds {
		t.Errorf("%d watched resources and %d kinds of writes, want %d", len(c.Watches), len(c.Writes), maxKinds)
	}
	if c.Changes != 2*maxKinds {
		t.Errorf("%d writes, want that all are counted", c.Changes)
	}
}

// A control plane without a view is asked for no snapshots.
func TestDelayedKeysAreForgottenWithoutReaders(t *testing.T) {
	queues := NewQueues()
	o := New(Options{Queues: queues})
	defer o.Close()
	q := queues.Open("q").q
	long := time.Now().Add(-time.Minute)
	for range 1000 {
		q.delayed.add(&delayedKey{due: long})
	}
	o.sampler.sample()
	if q.delayed.unsorted.Load() != nil || len(q.delayed.due) > 0 {
		t.Error("keys that were due a minute ago are kept")
	}
}
