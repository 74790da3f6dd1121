package trace

import (
	"slices"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func at(ms float64) time.Time { return noon.Add(time.Duration(ms * float64(time.Millisecond))) }

func someDeployment(name string) observe.Object {
	return observe.Object{Group: "apps", Resource: "deployments", Namespace: "default", Name: name, UID: name}
}

// deliveredRecord is an event of a Deployment with the adds of its handler.
func deliveredRecord(seq uint64, name string, adds ...uint64) observe.Record {
	d := &observe.Delivered{Controller: "c", Change: observe.Updated, Object: someDeployment(name), Took: 10 * time.Microsecond, Adds: adds}
	d.Queues = slices.Repeat([]string{"q"}, len(adds))
	return observe.Record{Seq: seq, Time: at(float64(seq)), Event: d}
}

// syncedRecord is a sync that took a millisecond, of a key that waited for two.
func syncedRecord(seq uint64, s observe.Synced) observe.Record {
	s.Controller, s.Queue, s.Waited, s.Took = "c", "q", 2*time.Millisecond, time.Millisecond
	if s.Key != "" {
		s.KeyBasis = observe.BasisLog
	}
	return observe.Record{Seq: seq, Time: at(float64(seq)), Event: &s}
}

func TestLinksAddsReportedByQueues(t *testing.T) {
	putOff := deliveredRecord(1, "a")
	putOff.Event.(*observe.Delivered).Later = []observe.DelayedKey{{Queue: "q", Due: at(7)}}
	retry := func(seq uint64, key string, due float64) observe.Record {
		return syncedRecord(seq, observe.Synced{ID: 70 + seq, Key: key, Retried: true, Due: at(due)})
	}
	timed := func(seq uint64, key string, due float64) observe.Record {
		r := retry(seq, key, due)
		s := r.Event.(*observe.Synced)
		s.Add, s.Timed, s.Sure = seq, true, true
		return r
	}
	putOffOther := deliveredRecord(2, "b")
	putOffOther.Event.(*observe.Delivered).Later = []observe.DelayedKey{{Queue: "q", Due: at(7)}}
	likely := func(seq uint64, key string, due float64) observe.Record { // the last one is ID 9
		r := retry(seq, key, due)
		s := r.Event.(*observe.Synced)
		s.KeyBasis = observe.BasisTimer
		if seq == 10 {
			s.ID, s.Add, s.Timed, s.Retried, s.Due = 9, 5, true, false, time.Time{}
		}
		return r
	}
	later := func(seq uint64, name string, due float64) observe.Record {
		r := deliveredRecord(seq, name)
		r.Event.(*observe.Delivered).Later = []observe.DelayedKey{{Queue: "q", Due: at(due)}}
		return r
	}
	for _, test := range []struct {
		name    string
		records []observe.Record // the last is the sync to link
		cause   string           // ID of its node; "" = none
		rule    Rule
		sure    Certainty
	}{
		{"the add of another object's event", []observe.Record{deliveredRecord(1, "a", 5), deliveredRecord(2, "b", 6), syncedRecord(10, observe.Synced{ID: 9, Key: "default/x", Add: 5, Cause: 1, Sure: true})}, "r1", ByAdd, Certain},
		{"an add before a restart has the same number", []observe.Record{deliveredRecord(1, "a", 5), deliveredRecord(2, "b", 5), syncedRecord(10, observe.Synced{ID: 9, Add: 5, Sure: true})}, "r2", ByAdd, Certain},
		{"an add after a restart has the same number", []observe.Record{deliveredRecord(1, "a", 5), syncedRecord(10, observe.Synced{ID: 9, Add: 5, Sure: true}), deliveredRecord(20, "b", 5)}, "r1", ByAdd, Certain},
		{"an event long before a restart has the number of a handed over add", []observe.Record{deliveredRecord(1, "a", 5), syncedRecord(600000, observe.Synced{ID: 9, Key: "default/b", Add: 5, Sure: true})}, "", "", ""},
		{"an event long before a restart has the number of one of several adds", []observe.Record{deliveredRecord(1, "a", 5), syncedRecord(600000, observe.Synced{ID: 9, Key: "default/b", Add: 5, LastAdd: 6})}, "", "", ""},
		{"several adds match, one of the object", []observe.Record{deliveredRecord(1, "a", 5), deliveredRecord(2, "b", 6), syncedRecord(10, observe.Synced{ID: 9, Key: "default/b", Add: 5, LastAdd: 6, Cause: 1})}, "r2", ByAdd, Likely},
		{"several adds match, one of an object created for it", []observe.Record{deliveredRecord(1, "a", 5), deliveredRecord(2, "b-1", 6), syncedRecord(10, observe.Synced{ID: 9, Key: "default/b", Add: 5, LastAdd: 6})}, "r2", ByAdd, Likely},
		{"several adds match, none of the object", []observe.Record{deliveredRecord(1, "a", 5), deliveredRecord(2, "b", 6), syncedRecord(10, observe.Synced{ID: 9, Key: "default/x", Add: 5, LastAdd: 6, Cause: 1})}, "r1", ByAdd, Likely},
		{"several adds match, another sync follows one", []observe.Record{deliveredRecord(1, "a", 5), deliveredRecord(2, "b", 6), syncedRecord(8, observe.Synced{ID: 8, Add: 6, Sure: true}), syncedRecord(10, observe.Synced{ID: 9, Key: "default/b", Add: 5, LastAdd: 6})}, "r1", ByAdd, Certain},
		{"several adds match, another sync followed one before a restart", []observe.Record{syncedRecord(5, observe.Synced{ID: 8, Add: 5, Sure: true}), deliveredRecord(101, "a", 5), deliveredRecord(102, "b", 6), syncedRecord(110, observe.Synced{ID: 9, Key: "default/b", Add: 5, LastAdd: 6})}, "r102", ByAdd, Likely},
		{"three adds match, the others are eliminated in turn", []observe.Record{deliveredRecord(1, "a", 5), deliveredRecord(2, "b", 6), deliveredRecord(3, "c", 7),
			syncedRecord(7, observe.Synced{ID: 7, Add: 7, Sure: true}), syncedRecord(8, observe.Synced{ID: 8, Add: 6, LastAdd: 7}), syncedRecord(10, observe.Synced{ID: 9, Add: 5, LastAdd: 7})}, "r1", ByAdd, Certain},
		{"several adds match, the event of the first does not name it", []observe.Record{deliveredRecord(1, "a"), deliveredRecord(2, "b", 6), syncedRecord(10, observe.Synced{ID: 9, Key: "default/x", Add: 5, LastAdd: 6, Cause: 1})}, "r1", ByAdd, Likely},
		{"several adds match, another sync follows the only one that an event names", []observe.Record{deliveredRecord(1, "a"), deliveredRecord(2, "b", 6), syncedRecord(8, observe.Synced{ID: 8, Add: 6, Sure: true}), syncedRecord(10, observe.Synced{ID: 9, Key: "default/x", Add: 5, LastAdd: 6, Cause: 1})}, "r1", ByAdd, Certain},
		{"another sync added it", []observe.Record{syncedRecord(8, observe.Synced{ID: 8}), syncedRecord(10, observe.Synced{ID: 9, Add: 5, CauseSync: 8, Sure: true})}, "s8", BySync, Certain},
		{"unknown add", []observe.Record{syncedRecord(10, observe.Synced{ID: 9, Add: 5, Sure: true})}, "", "", ""},

		{"more keys wait than the queue keeps adds of, and an event's handler ran", []observe.Record{deliveredRecord(6, "a", 5), deliveredRecord(7, "b", 600), syncedRecord(10, observe.Synced{ID: 9, Key: "default/b"})}, "r7", ByAdd, Likely},
		{"more keys wait than the queue keeps adds of, and none was added then", []observe.Record{deliveredRecord(6, "a", 5), retry(2, "default/a", 4), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a"})}, "s72", ByRetry, Likely},
		{"a client reports the event only", []observe.Record{deliveredRecord(1, "a"), deliveredRecord(7, "b", 6), syncedRecord(10, observe.Synced{ID: 9, Key: "default/x", Cause: 1})}, "r1", ByAdd, Likely},
		{"a client is not sure of the event", []observe.Record{deliveredRecord(7, "a", 5), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, Cause: 7})}, "r7", ByAdd, Likely},
		{"a client is not sure of the sync", []observe.Record{retry(1, "default/a", 6.99), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, CauseSync: 71})}, "s71", ByRetry, Likely},
		{"a client is not sure of a sync of another key", []observe.Record{retry(1, "default/b", 6.99), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, CauseSync: 71})}, "s71", BySync, Likely},
		{"a client knows the add only, which an event names", []observe.Record{deliveredRecord(7, "x", 5), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5})}, "r7", ByAdd, Likely},
		{"a client knows the add only, and an event's handler ran", []observe.Record{deliveredRecord(7, "a", 4), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5})}, "r7", ByAdd, Likely},
		{"a client knows the add only, and a sync has requeued the key", []observe.Record{retry(1, "default/a", 4), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5})}, "s71", ByRetry, Likely},
		{"several adds match, the first of a sync", []observe.Record{retry(1, "default/a", 6.99), deliveredRecord(7, "x", 6), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, LastAdd: 6, CauseSync: 71})}, "s71", ByRetry, Likely},
		{"the timer or a handler, and no delay is known", []observe.Record{deliveredRecord(7, "a", 6), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, LastAdd: 6, Timed: true})}, "r7", ByAdd, Likely},
		{"the timer or a handler, another sync follows the timer", []observe.Record{retry(1, "default/a", 6.99), deliveredRecord(7, "a", 6), syncedRecord(8, observe.Synced{ID: 8, Add: 5, Timed: true, Sure: true}), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, LastAdd: 6, Timed: true})}, "r7", ByAdd, Certain},
		{"several adds of the timer match, another sync follows the first", []observe.Record{retry(1, "default/a", 6.99), syncedRecord(8, observe.Synced{ID: 8, Add: 5, Timed: true, Sure: true}), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, LastAdd: 6, Timed: true, Sure: true})}, "s71", ByRetry, Certain},
		{"a delay that is due, and one of another object that may have ended late", []observe.Record{later(1, "a-pod", -90), later(2, "a", 7), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, Timed: true, Sure: true})}, "r2", ByDelay, Likely},
		{"a delay that is due, and one of an unknown key that may have ended late", []observe.Record{retry(1, "", -90), later(2, "a", 7), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, Timed: true, Sure: true})}, "r2", ByDelay, Likely},
		{"a delay that is due, and one of another key that may have ended late", []observe.Record{retry(1, "default/b", -90), later(2, "a", 7), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, Timed: true, Sure: true})}, "r2", ByDelay, Certain},
		{"a retry", []observe.Record{retry(1, "default/a", 6.99), retry(2, "default/b", 7), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, Timed: true, Sure: true})}, "s71", ByRetry, Certain},
		{"retries that are due at once, with likely keys", []observe.Record{likely(1, "default/b", 6.98), likely(2, "default/a", 6.99), likely(10, "default/a", 0)}, "s72", ByRetry, Likely},
		{"events that delayed keys until the same time, with a likely key", []observe.Record{putOff, putOffOther, likely(10, "default/b", 0)}, "r2", ByDelay, Likely},
		{"retries that are due at once, all of other likely keys", []observe.Record{likely(1, "default/b", 6.98), likely(2, "default/c", 6.99), likely(10, "default/a", 0)}, "", "", ""},
		{"a retry of an unknown key", []observe.Record{retry(1, "", 7), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, Timed: true})}, "s71", ByRetry, Likely},
		{"two retries of one key", []observe.Record{retry(1, "default/a", 6.99), retry(2, "default/a", 6.98), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, Timed: true})}, "s72", ByRetry, Likely},
		{"a retry that is not due yet", []observe.Record{retry(1, "default/a", 9), syncedRecord(10, observe.Synced{ID: 9, Add: 5, Timed: true})}, "", "", ""},
		{"delayed by a handler", []observe.Record{putOff, syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, Timed: true, Sure: true})}, "r1", ByDelay, Certain},
		{"delayed by a handler, maybe for another key", []observe.Record{putOff, syncedRecord(10, observe.Synced{ID: 9, Key: "default/x", Add: 5, Timed: true})}, "r1", ByDelay, Likely},
		{"delayed by a handler, or retried", []observe.Record{putOff, retry(2, "default/a", 6.99), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, Timed: true})}, "s72", ByRetry, Likely},
		{"a late timer", []observe.Record{retry(1, "default/b", -100), retry(2, "default/a", -90), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, Timed: true, Sure: true})}, "s72", ByRetry, Likely},
		{"a retry that is due, and one whose timer may be late", []observe.Record{retry(1, "default/a", -90), retry(2, "default/a", 6.99), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, Timed: true, Sure: true})}, "s72", ByRetry, Likely},
		{"a retry long ago", []observe.Record{retry(1, "default/a", -10000), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, Timed: true, Sure: true})}, "", "", ""},
		{"a retry, or an event's handler at the same time", []observe.Record{retry(1, "default/a", 6.99), deliveredRecord(7, "b", 6), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, LastAdd: 6, Timed: true})}, "s71", ByRetry, Likely},
		{"a retry that the queue ignored, as the key was due before", []observe.Record{retry(1, "default/a", 3), retry(2, "default/a", 6.98), timed(6, "default/a", 6.99), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, Timed: true, Sure: true})}, "s76", ByRetry, Certain},
		{"the timer, while an event's handler added another key", []observe.Record{deliveredRecord(7, "b", 4), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, Timed: true, Sure: true})}, "", "", ""},
		{"the timer, while another sync ran", []observe.Record{syncedRecord(8, observe.Synced{ID: 8, Key: "default/b"}), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, Timed: true, Sure: true})}, "", "", ""},
		{"a sync without a record, while an event's handler added another key", []observe.Record{deliveredRecord(7, "b", 4), syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, CauseSync: 8, Sure: true})}, "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := newGraph(test.records, observe.Object{}, Options{}).syncByID[9]
			got := Cause{}
			if n.Cause != nil {
				got = *n.Cause
			}
			if want := (Cause{test.cause, test.sure, test.rule}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// The UID in the answer of a delete says which object it has removed, even if another
// one of the same name is removed right after.
func TestDeletionIsMatchedByUID(t *testing.T) {
	removed := func(seq uint64, uid string) observe.Record {
		d := deliveredRecord(seq, "a").Event.(*observe.Delivered)
		d.Change, d.Object.UID, d.ResourceVersion = observe.Deleted, uid, string('0'+rune(seq))
		return observe.Record{Seq: seq, Time: at(float64(seq)), Event: d}
	}
	call := func(seq uint64, uid string) observe.Record {
		o := someDeployment("a")
		o.UID = uid
		return observe.Record{Seq: seq, Time: at(float64(seq)), Event: &observe.Called{
			Controller: "gc", Verb: "delete", Object: o, Status: 200, Began: at(1), Took: 10 * time.Millisecond}}
	}
	g := newGraph([]observe.Record{call(2, "u"), removed(3, "u"), call(4, "v"), removed(5, "v")}, observe.Object{}, Options{})
	for event, want := range map[uint64]string{3: "r2", 5: "r4"} {
		if c := g.eventBySeq[event].Cause; c == nil || c.ID != want || c.Certainty != Certain || c.Rule != ByDeletion {
			t.Errorf("event %d is linked to %+v, want %s", event, c, want)
		}
	}
}
