package instrument

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A report names no more keys than the control plane takes, which refuses it otherwise.
func TestNamedKeys(t *testing.T) {
	k, e := newKeys(&numbers{}), &eventRun{id: 1}
	for i := range 300 {
		for name, after := range map[string]time.Duration{"now": 0, "later": time.Hour} {
			k.add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: name, Name: fmt.Sprint(i)}}, work{event: e}, after, false)
		}
	}
	var r controllerReport
	k.addTo(&r)
	if len(e.adds) != 256 || len(e.later) != 64 || len(r.Waiting) != 10 || r.Adds != 300 || r.Delayed != 300 {
		t.Errorf("%d adds, %d later, %d waiting, %+v", len(e.adds), len(e.later), len(r.Waiting), r)
	}
}

// An event whose handler has delayed a key behind another delay, or by that of the rate limiter, has not ignored the object.
func TestEventsThatDelayKeys(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after time.Duration
		limited       bool
		delays        bool
	}{
		"at once":             {0, 0, false, false},
		"delayed":             {0, time.Hour, false, false},
		"delayed for longer":  {time.Minute, time.Hour, false, true},
		"delayed for less":    {time.Hour, time.Minute, false, false},
		"by the rate limiter": {0, 0, true, true},
	} {
		k, e := newKeys(&numbers{}), &eventRun{id: 1}
		if tc.before > 0 {
			k.add(requestFor("shop"), work{}, tc.before, false)
		}
		if k.add(requestFor("shop"), work{event: e}, tc.after, tc.limited); e.delays != tc.delays {
			t.Errorf("%s: %v, want %v", name, e.delays, tc.delays)
		}
	}
}

func requestFor(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}}
}

// A key that is added after the queue has given it to a worker, and before the worker has noted
// that, is queued again: no queue gives out more keys than were added.
func TestAddWhileTaken(t *testing.T) {
	k, c, key := newKeys(&numbers{}), &controller{name: "site"}, requestFor("shop")
	k.add(key, work{}, 0, false)
	k.add(key, work{}, 0, false) // the queue has given out the key
	for range 2 {
		k.take(c, key)
		k.end(key)
	}
	var r controllerReport
	if k.addTo(&r); r.Adds != 2 || r.Gets != 2 || r.Done != 2 {
		t.Errorf("%d adds, %d gets, %d done", r.Adds, r.Gets, r.Done)
	}
}

// Of two delayed adds, the one that is due earlier queues the key, whichever of them the rate limiter
// delays and whenever that says by how much.
func TestEarlierOfTwoDelays(t *testing.T) {
	event, sync := work{event: &eventRun{id: 7}}, work{sync: &syncRun{id: 8}}
	for name, test := range map[string]struct {
		add   func(k *keys, key reconcile.Request)
		event bool
		due   time.Duration
	}{
		"the rate limiter chooses the later": {func(k *keys, key reconcile.Request) {
			k.add(key, event, 5*time.Second, false)
			k.add(key, sync, 0, true)
			k.limit(key, 16*time.Second)
		}, true, 5 * time.Second},
		"the rate limiter chooses the earlier": {func(k *keys, key reconcile.Request) {
			k.add(key, event, 5*time.Second, false)
			k.add(key, sync, 0, true)
			k.limit(key, time.Second)
		}, false, time.Second},
		"the other is added before the rate limiter chooses": {func(k *keys, key reconcile.Request) {
			k.add(key, sync, 0, true)
			k.add(key, event, 5*time.Second, false)
			k.limit(key, 16*time.Second)
		}, true, 5 * time.Second},
		"a limit of the delay": {func(k *keys, key reconcile.Request) {
			k.add(key, event, 5*time.Second, false)
			k.add(key, sync, 10*time.Second, true)
			k.limit(key, 16*time.Second)
		}, true, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			k, key := newKeys(&numbers{}), requestFor("shop")
			before := time.Now()
			test.add(k, key)
			after := time.Now()
			p := k.delayed.of[key]
			if by := p.by.event != nil; by != test.event || p.limited {
				t.Errorf("the event's: %v, want %v; limited: %v", by, test.event, p.limited)
			}
			if p.due.Before(before.Add(test.due)) || p.due.After(after.Add(test.due)) {
				t.Errorf("due in %v, want %v", p.due.Sub(before), test.due)
			}
		})
	}
}

// A key that a worker takes before it is due was queued by another add.
func TestTakenBeforeDue(t *testing.T) {
	for after, want := range map[time.Duration]bool{time.Hour: true, time.Nanosecond: false, 0: false} {
		k, key := newKeys(&numbers{}), requestFor("shop")
		k.add(key, work{event: &eventRun{id: 7}}, after, false)
		if s := k.take(&controller{name: "site"}, key); s.from.unsure != want {
			t.Errorf("after %v: unsure is %v, want %v", after, s.from.unsure, want)
		}
	}
}

// client-go's queue keeps a delayed add of a key that is queued, too; controller-runtime's own one does not.
func TestDelayedAddOfQueuedKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, add := range map[string]func(k *keys, key reconcile.Request){
			"before": func(k *keys, key reconcile.Request) {
				k.add(key, work{event: &eventRun{id: 7}}, time.Hour, false)
				k.add(key, work{}, 0, false)
			},
			"after": func(k *keys, key reconcile.Request) {
				k.add(key, work{}, 0, false)
				k.add(key, work{event: &eventRun{id: 7}}, time.Hour, false)
			},
		} {
			for _, apart := range []bool{false, true} {
				k, c, key := newKeys(&numbers{}), &controller{name: "site"}, requestFor("shop")
				if apart {
					k.keepApart()
				}
				add(k, key)
				k.take(c, key)
				k.end(key)
				var r controllerReport
				if k.addTo(&r); (r.Delayed == 1) != apart || r.NextDue.IsZero() == apart {
					t.Errorf("delayed %s, kept apart: %v: %+v", name, apart, r)
				}
				if !apart {
					continue
				}
				time.Sleep(time.Hour)
				s := k.take(c, key)
				if s.from == nil || s.from.by.event == nil || s.from.unsure || s.waited() != 0 {
					t.Errorf("delayed %s: the sync is of %+v", name, s.from)
				}
				k.end(key)
				r = controllerReport{}
				if k.addTo(&r); r.Delayed != 0 || r.Adds != 2 || r.Gets != 2 || r.Done != 2 {
					t.Errorf("delayed %s: %+v", name, r)
				}
			}
		}
	})
}

// A queue of client-go's kind may have a rate limiter of its own, which is not observed: the worker that takes
// the key shows that its time has come.
func TestDelayOfUnknownLimiter(t *testing.T) {
	k, c, key := newKeys(&numbers{}), &controller{name: "site"}, requestFor("shop")
	k.keepApart()
	k.add(key, work{sync: &syncRun{id: 8}}, 0, true)
	s := k.take(c, key)
	k.end(key)
	if s.from == nil || s.from.by.sync == nil {
		t.Errorf("the sync is of %+v", s.from)
	}
	k.add(key, work{}, time.Hour, false)
	var r controllerReport
	if k.addTo(&r); r.Delayed != 1 || r.NextDue.IsZero() {
		t.Errorf("%d are delayed, the first for %v", r.Delayed, r.NextDue)
	}
}

// The end of a delay that is not known may be that of a key which another add has queued: what the sync of that key
// adds is not behind it.
func TestDelayOfUnknownLimiterEndsWhileQueued(t *testing.T) {
	for name, test := range map[string]struct {
		after   time.Duration
		limited bool
		other   time.Duration // delay of an add by an event, beside the one that is not known
		bySync  bool
		due     time.Duration
	}{
		"a known delay":       {after: time.Hour, bySync: true, due: time.Hour},
		"an unknown delay":    {limited: true, bySync: true},
		"behind another add":  {after: time.Hour, other: time.Minute, due: time.Minute},
		"after another's end": {after: time.Hour, other: time.Millisecond, bySync: true, due: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, c, key, event := newKeys(&numbers{}), &controller{name: "site"}, requestFor("shop"), work{event: &eventRun{id: 7}}
				k.keepApart()
				k.add(key, work{sync: &syncRun{id: 8}}, 0, true)
				if test.other > 0 {
					k.add(key, event, time.Second+test.other, false)
				}
				k.add(key, event, 0, false)
				time.Sleep(time.Second + 10*time.Millisecond)
				s := k.take(c, key)
				began := time.Now()
				k.add(key, work{sync: s}, test.after, test.limited)
				_, next := k.end(key)
				if next == nil || (next.by.sync == s) != test.bySync {
					t.Fatalf("the next add is %+v", next)
				}
				var r controllerReport
				if k.addTo(&r); r.Delayed != 1 || test.due > 0 && (r.NextDue.Sub(began)-test.due).Abs() > 20*time.Millisecond {
					t.Errorf("%d are delayed, the first for %v, want %v", r.Delayed, r.NextDue.Sub(began), test.due)
				}
			})
		})
	}
}

// A delayed key that becomes due while it is queued is the queued one.
func TestDueWhileQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, c, key := newKeys(&numbers{}), &controller{name: "site"}, requestFor("shop")
		k.keepApart()
		k.add(key, work{}, time.Second, false)
		k.add(key, work{event: &eventRun{id: 7}}, 0, false)
		time.Sleep(time.Second)
		if s := k.take(c, key); s.from.by.event == nil {
			t.Errorf("the sync is of %+v", s.from)
		}
		var r controllerReport
		if k.addTo(&r); len(k.queued) != 0 || r.Delayed != 0 {
			t.Errorf("%d keys are queued: %+v", len(k.queued), r)
		}
	})
}

// A report names when the first of the delayed keys is due.
func TestFirstOfDelayedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, began := newKeys(&numbers{}), time.Now()
		expect := func(delayed int, due time.Duration) {
			t.Helper()
			var r controllerReport
			if k.addTo(&r); r.Delayed != delayed || !r.NextDue.Equal(began.Add(due)) {
				t.Errorf("%d are delayed, the first for %v, want %d and %v", r.Delayed, r.NextDue.Sub(began), delayed, due)
			}
		}
		for i, after := range []time.Duration{9, 3, 7, 5, 8} {
			k.add(requestFor(fmt.Sprint(i)), work{}, after*time.Second, false)
		}
		k.add(requestFor("limited"), work{}, 0, true)
		expect(6, 3*time.Second)
		k.limit(requestFor("limited"), 2*time.Second)
		expect(6, 2*time.Second)
		k.add(requestFor("0"), work{}, time.Second, false)
		expect(6, time.Second)
		k.add(requestFor("0"), work{}, 0, false)
		expect(5, 2*time.Second)
		time.Sleep(5 * time.Second)
		expect(2, 7*time.Second)
		k.forget()
		if len(k.queued)+len(k.delayed.of)+len(k.delayed.order) != 0 {
			t.Error("keys are kept")
		}
	})
}
