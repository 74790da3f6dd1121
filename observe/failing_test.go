package observe

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// failKeys makes n keys of a controller fail in turn, rounds times.
func failKeys(r *Recorder, n, rounds int) {
	for range rounds {
		for i := range n {
			r.ReportedQueue("q").End(&Synced{Key: fmt.Sprint("default/", i), Error: "forbidden", Retried: true}, time.Now())
		}
	}
}

// Many keys that fail in turn are counted each.
func TestManyFailingKeys(t *testing.T) {
	o := newTestObserver(t, Options{})
	failKeys(o.Recorder("other"), 1, 1)
	failKeys(o.Recorder("operator"), 300, 2)
	c := snapshotOf(t, o, "operator")
	if len(c.Failing) != 10 || c.MoreFailing != 290 || c.Failing[0].Times != 2 {
		t.Errorf("%d failing keys, %d more, the last one %d times", len(c.Failing), c.MoreFailing, c.Failing[0].Times)
	}
	if c := snapshotOf(t, o, "other"); len(c.Failing) != 1 {
		t.Errorf("failing of another controller: %+v", c.Failing)
	}
}

// A controller with more failing keys than are kept makes the observer forget its own, those that
// failed longest ago.
func TestTooManyFailingKeys(t *testing.T) {
	testutil.RequireFineClock(t)
	o := newTestObserver(t, Options{})
	failKeys(o.Recorder("other"), 20, 1)
	failKeys(o.Recorder("operator"), 2*maxFailing, 1)
	if c := snapshotOf(t, o, "other"); len(c.Failing) != 10 || c.MoreFailing != 10 {
		t.Errorf("of another controller: %d failing keys, %d more", len(c.Failing), c.MoreFailing)
	}
	c := snapshotOf(t, o, "operator")
	if n := len(c.Failing) + c.MoreFailing; n > maxFailing || n < maxFailing/2 {
		t.Errorf("%d failing keys, at most %d are kept", n, maxFailing)
	}
	if newest := fmt.Sprint("default/", 2*maxFailing-1); c.Failing[0].Key != newest {
		t.Errorf("got %s, want %s", c.Failing[0].Key, newest)
	}
}

// What is known of a controller that was removed is forgotten, however many come and go.
func TestRemovedRecordersAreForgotten(t *testing.T) {
	o := newTestObserver(t, Options{})
	for i := range 1000 {
		r := o.Recorder(fmt.Sprint("operator/", i))
		due := time.Now().Add(time.Hour)
		r.ReportedQueue("q").End(&Synced{Key: "default/a", Error: "forbidden", Retried: true, Due: due}, time.Now())
		o.RemoveRecorder(r.name)
	}
	o.history.advance()
	if n := len(o.history.delays); n > 0 {
		t.Errorf("the delays of %d queues are kept", n)
	}
	snapshotOf(t, o, o.Recorder("other").name)
	if n := len(o.follower.failures); n > 0 {
		t.Errorf("%d failing keys are kept", n)
	}
}

// Delays that are long past explain no sync.
func TestPastDelaysAreForgotten(t *testing.T) {
	o := newTestObserver(t, Options{})
	for i := range 10 {
		at := time.Now().Add(time.Duration(i) * time.Hour)
		o.Recorder("operator").ReportedQueue(fmt.Sprint("q", i)).End(&Synced{Key: "default/a", Retried: true, Due: at}, at)
	}
	o.history.advance()
	if n := len(o.history.delays); n > 2 {
		t.Errorf("the delays of %d queues are kept", n)
	}
}

// When a delayed add is due says nothing of a key that other events queue again and again. Of its delayed adds, the queue
// keeps the earliest.
func TestNextAttempt(t *testing.T) {
	now := time.Now()
	in := func(s float64) time.Time { return now.Add(time.Duration(s * float64(time.Second))) }
	sync := func(at, due float64) *Record {
		e := &Synced{Controller: "deployment-controller", Queue: "q", Key: "default/shop", Took: 10 * time.Millisecond}
		if due != 0 {
			e.Error, e.Retried, e.Due = "conflict", true, in(due)
		}
		return &Record{Time: in(at), Event: e}
	}
	for name, tc := range map[string]struct {
		syncs []*Record
		want  string
	}{
		"backoff":                 {[]*Record{sync(-6, -4), sync(-3.9, 4)}, "2 times, next attempt in 4.0 s"},
		"an event":                {[]*Record{sync(-2, 30), sync(-1, 60)}, "2 times, next attempt in 30.0 s"},
		"an event, then the add":  {[]*Record{sync(-4, -2), sync(-3, 50), sync(-1.9, 60)}, "3 times, next attempt in 1 m 00 s"},
		"a hot loop":              {[]*Record{sync(-.3, 373), sync(-.2, 374), sync(-.1, 375)}, "3 times, synced again because of other events"},
		"with successes":          {[]*Record{sync(-.4, 90), sync(-.3, 0), sync(-.2, 0), sync(-.1, 92)}, "1 times, synced again because of other events"},
		"a hot loop that is over": {[]*Record{sync(-9.3, 373), sync(-9.2, 374), sync(-9.1, 375)}, "3 times, next attempt in 6 m 13 s"},
		"an event now and then":   {[]*Record{sync(-21, 300), sync(-11, 310), sync(-1, 320)}, "3 times, next attempt in 5 m 00 s"},
		"of an operator":          {[]*Record{sync(-2, 30), sync(-1, 60)}, "2 times, next attempt in 1 m 00 s"}, // which reports the earliest itself
		"success":                 {[]*Record{sync(-.4, 90), sync(-.3, 91), sync(-.2, 92), sync(-.1, 0)}, ""},
	} {
		o := newTestObserver(t, Options{})
		for i, r := range tc.syncs {
			if r.Seq = uint64(i + 1); name == "of an operator" {
				r.Event.(*Synced).Controller = "shop/site"
			}
			o.follower.followRecord(r)
		}
		got := ""
		for _, f := range o.follower.failingKeys(now)[tc.syncs[0].Event.(*Synced).Controller] {
			got = fmt.Sprintf("%d times, %s", f.Times, f.NextAttempt(now))
		}
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// A key that waits or is worked on before its delayed add is due was added by another event.
func TestNextAttemptOfPendingKeys(t *testing.T) {
	o := newTestObserver(t, Options{})
	r := o.Recorder("operator")
	q := r.KeyedQueue("q")
	for _, key := range []string{"default/a", "default/b"} {
		r.ReportedQueue("q").End(&Synced{Key: key, Error: "forbidden", Retried: true, Due: time.Now().Add(time.Hour)}, time.Now())
	}
	defer q.Begin("default/b", nil).End("")
	early := map[string]bool{}
	for _, f := range snapshotOf(t, o, "operator").Failing {
		early[f.Key] = f.Early
	}
	if early["default/a"] || !early["default/b"] {
		t.Errorf("early: %v", early)
	}
}

// More may be recorded between two reads of the follower than the ring of all kinds keeps.
func TestFailingKeysBehindManyRecords(t *testing.T) {
	o := newTestObserver(t, Options{Records: 100})
	failKeys(o.Recorder("operator"), 1, 1)
	for range 150 {
		o.Append(&Delivered{Controller: "operator"})
	}
	if c := snapshotOf(t, o, "operator"); len(c.Failing) != 1 {
		t.Errorf("failing: %+v", c.Failing)
	}
}

// A snapshot can be asked for failing keys that are not among the newest.
func TestFailingKeysThatAreAskedFor(t *testing.T) {
	o := newTestObserver(t, Options{})
	failKeys(o.Recorder("operator"), 300, 1)
	for _, tc := range []struct {
		keys       []string
		want, more int
	}{
		{[]string{"default/3"}, 11, 289},
		{[]string{"default/3", "default/4"}, 12, 288},
		{[]string{"default/299", "default/300"}, 10, 290}, // one is listed anyway, and one does not fail
	} {
		s, err := o.SnapshotWithKeys(t.Context(), tc.keys...)
		if err != nil {
			t.Fatal(err)
		}
		c := s.Controllers[0]
		if len(c.Failing) != tc.want || c.MoreFailing != tc.more {
			t.Errorf("%q: %d failing keys, %d more", tc.keys, len(c.Failing), c.MoreFailing)
		}
		if last := c.Failing[len(c.Failing)-1].Key; tc.want > 10 && !slices.Contains(tc.keys, last) {
			t.Errorf("%q: the last one is %s", tc.keys, last)
		}
	}
}
