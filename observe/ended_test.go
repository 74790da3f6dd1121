package observe

import (
	"fmt"
	"testing"
	"time"
)

// A controller that has stopped retries nothing: it has no failing keys, and says since when.
func TestStoppedControllerHasNoFailingKeys(t *testing.T) {
	o := newTestObserver(t, Options{})
	r := o.Recorder("shop/site")
	r.SetState("running", "")
	r.ReportedQueue("site").End(&Synced{ID: 1, Key: "default/shop", Error: "exit status 1", Retried: true}, time.Now())
	if c := snapshotOf(t, o, "shop/site"); len(c.Failing) != 1 {
		t.Fatalf("failing: %+v", c.Failing)
	}
	before := time.Now()
	r.SetState("off", "its process has ended")
	if c := snapshotOf(t, o, "shop/site"); len(c.Failing) != 0 || c.Since.Before(before) || c.Reason != "its process has ended" {
		t.Errorf("after its end: %+v", c)
	}
	r.SetState("running", "")
	r.ReportedQueue("site").End(&Synced{ID: 2, Key: "default/shop", Error: "exit status 1", Retried: true}, time.Now())
	if c := snapshotOf(t, o, "shop/site"); len(c.Failing) != 1 || c.Failing[0].Times != 1 {
		t.Errorf("after its start: %+v", c.Failing)
	}
}

// A snapshot has ten failing keys, and how many it leaves out.
func TestFailingKeysBeyondTheLimitAreCounted(t *testing.T) {
	o := newTestObserver(t, Options{})
	q := o.Recorder("shop/site").ReportedQueue("site")
	for i := range maxFailingKeys + 3 {
		q.End(&Synced{ID: uint64(i + 1), Key: fmt.Sprintf("default/shop-%d", i), Error: "exit status 1", Retried: true}, time.Now())
		listed := min(i+1, maxFailingKeys)
		if c := snapshotOf(t, o, "shop/site"); len(c.Failing) != listed || c.MoreFailing != i+1-listed {
			t.Errorf("%d keys fail: %d listed, %d more", i+1, len(c.Failing), c.MoreFailing)
		}
	}
}
