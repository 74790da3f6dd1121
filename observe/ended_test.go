package observe

import (
	"fmt"
	"testing"
	"time"
)

// A controller whose process has ended has no failing keys, and says since when.
func TestEndedControllerHasNoFailingKeys(t *testing.T) {
	o := newTestObserver(t, Options{})
	r := o.Recorder("shop/site")
	r.SetState(ControllerChanged{State: "running"})
	r.ReportedQueue("site").End(&Synced{ID: 1, Key: "default/shop", Error: "exit status 1", Retried: true}, time.Now())
	if c := snapshotOf(t, o, "shop/site"); len(c.Failing) != 1 {
		t.Fatalf("failing: %+v", c.Failing)
	}
	before := time.Now()
	r.SetState(ControllerChanged{State: "off", Reason: "its process has ended"})
	if c := snapshotOf(t, o, "shop/site"); len(c.Failing) != 0 || c.Since.Before(before) || c.Reason != "its process has ended" {
		t.Errorf("after its end: %+v", c)
	}
	r.SetState(ControllerChanged{State: "running"})
	r.ReportedQueue("site").End(&Synced{ID: 2, Key: "default/shop", Error: "exit status 1", Retried: true}, time.Now())
	if c := snapshotOf(t, o, "shop/site"); len(c.Failing) != 1 || c.Failing[0].Times != 1 {
		t.Errorf("after its start: %+v", c.Failing)
	}
}

// Of a controller that was stopped manually the keys that failed are kept until it is started
// again: whether they would still fail is not known.
func TestManuallyStoppedControllerKeepsWhatFailed(t *testing.T) {
	o := newTestObserver(t, Options{})
	r := o.Recorder("job-controller")
	fail := func(id uint64) {
		now := time.Now()
		r.ReportedQueue("job").End(&Synced{ID: id, Key: "default/broken", Error: "exceeded quota", Retried: true, Due: now.Add(time.Minute)}, now)
	}
	r.SetState(ControllerChanged{State: "running"})
	fail(1)
	fail(2)
	r.SetState(ControllerChanged{State: "stopping"})
	// A sync that the stop interrupts says nothing about its key, whatever it returns.
	r.ReportedQueue("job").End(&Synced{ID: 3, Key: "default/broken"}, time.Now())
	r.ReportedQueue("job").End(&Synced{ID: 4, Key: "default/new", Error: "the controller was stopped"}, time.Now())
	r.SetState(ControllerChanged{State: "off", Reason: ReasonStopped})
	if c := snapshotOf(t, o, "job-controller"); len(c.Failing) != 1 || c.Failing[0].Times != 2 || !c.Failing[0].Due.IsZero() {
		t.Errorf("after its stop: %+v", c.Failing)
	}
	r.SetState(ControllerChanged{State: "building"})
	if c := snapshotOf(t, o, "job-controller"); len(c.Failing) != 0 {
		t.Errorf("after its start: %+v", c.Failing)
	}
}

// A controller may not look again at the key of an object that was deleted.
func TestFailingKeyOfADeletedObjectIsForgotten(t *testing.T) {
	for _, tt := range []struct {
		name    string
		due     time.Duration // of the retry, from now; 0 = there is none
		again   bool          // the object is created again
		deleted string        // resource
		failing int
	}{
		{"without a retry", 0, false, "pods", 0},
		{"the retry never came", -time.Minute, false, "pods", 0},
		{"the retry comes", time.Minute, false, "pods", 1},
		{"created again", 0, true, "pods", 1},
		{"an object of another kind was deleted", 0, false, "services", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newTestObserver(t, Options{})
			failed := &Synced{ID: 1, Key: "default/web-1", Error: `running Bind plugin: pods "web-1" not found`}
			if tt.due != 0 {
				failed.Due = time.Now().Add(tt.due)
			}
			wrote := func(deleted bool) {
				o.Append(&Called{Controller: "kubelet", Verb: "delete", Status: 200, Wrote: []Written{{Resource: tt.deleted, Namespace: "default", Name: "web-1", Deleted: deleted}}})
			}
			wrote(true)
			o.Recorder("kube-scheduler").ReportedQueue("active").End(failed, time.Now())
			if tt.again {
				wrote(false)
			}
			if c := snapshotOf(t, o, "kube-scheduler"); len(c.Failing) != tt.failing {
				t.Errorf("failing: %+v", c.Failing)
			}
		})
	}
}

func TestForgetFailures(t *testing.T) {
	o := newTestObserver(t, Options{})
	o.Recorder("job-controller").ReportedQueue("job").End(&Synced{ID: 1, Key: "default/broken", Error: "exceeded quota", Due: time.Now().Add(time.Minute)}, time.Now())
	o.ForgetFailures()
	if c := snapshotOf(t, o, "job-controller"); len(c.Failing) > 0 {
		t.Errorf("failing: %+v", c.Failing)
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

// Syncs of unknown keys may be retries of a key that fails: how often it has failed is not known then,
// nor that it still fails if they have all succeeded.
func TestSyncsOfUnknownKeysAfterAFailure(t *testing.T) {
	for _, tt := range []struct {
		name  string
		due   time.Duration // of the retry, from now
		queue string        // of the syncs of unknown keys
		syncs []string      // their errors
		want  string        // how often the key fails; empty = it does not
	}{
		{"none", -time.Minute, "hpa", nil, "once"},
		{"they fail", -time.Minute, "hpa", []string{"no target"}, "at least once"},
		{"they succeed", -time.Minute, "hpa", []string{"", ""}, ""},
		{"one succeeds", -time.Minute, "hpa", []string{"no target", ""}, "at least once"},
		{"one fails", -time.Minute, "hpa", []string{"", "no target"}, "at least once"},
		{"they succeed before the retry", time.Minute, "hpa", []string{""}, "once"},
		{"of another queue", -time.Minute, "other", []string{"no target", ""}, "once"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newTestObserver(t, Options{})
			r := o.Recorder("hpa")
			now := time.Now()
			r.ReportedQueue("hpa").End(&Synced{ID: 1, Key: "default/web", KeyBasis: BasisCall, Error: "no target", Retried: true, Due: now.Add(tt.due)}, now)
			for i, err := range tt.syncs {
				r.ReportedQueue(tt.queue).End(&Synced{ID: uint64(i + 2), Error: err}, now)
			}
			got := ""
			if list := snapshotOf(t, o, "hpa").Failing; len(list) > 0 {
				got = list[0].HowOften()
			}
			if got != tt.want {
				t.Errorf("it fails %q, want %q", got, tt.want)
			}
		})
	}
}
