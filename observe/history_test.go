package observe

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

// Objects of few names come and go, as the Pods of a StatefulSet do.
func TestHistoryOfRecreatedObjectsIsBounded(t *testing.T) {
	j := newJournal(64)
	h := newHistory(j, 8)
	version := 0
	for range 1000 {
		for _, deleted := range []bool{false, true} {
			version++
			w := Written{Resource: "pods", Namespace: "ns", Name: "web-0", ResourceVersion: strconv.Itoa(version), Deleted: deleted}
			j.append(&Record{Time: time.Now(), Event: &Called{Verb: "create", Status: 200, Object: Object{Resource: "pods", Namespace: "ns", Name: "web-0"}, Wrote: []Written{w}}})
			h.advance()
		}
	}
	if len(h.order) > 4*h.most {
		t.Errorf("%d entries for %d objects", len(h.order), len(h.objects))
	}
}

func TestHistoryForgetsTheOldestObject(t *testing.T) {
	h := newHistory(newJournal(64), 3)
	put := func(name string, deleted bool) {
		h.readCall(&Record{Seq: 1}, &Called{Verb: "create", Status: 200, Wrote: []Written{{Resource: "pods", Name: name, ResourceVersion: "1", Deleted: deleted}}})
	}
	put("a", false)
	put("b", false)
	put("a", true)
	put("c", false)
	put("a", false) // the newest
	put("d", false) // one too many: b is the oldest
	for name, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if got := h.objects[storedObject{"pods", "", name}] != nil; got != want {
			t.Errorf("%s is kept: %v, want %v", name, got, want)
		}
	}
}

// A write without an effect is answered with the version that another call has made.
func TestHistoryKeepsTheCauseOfAVersion(t *testing.T) {
	h := newHistory(newJournal(64), 3)
	made := &Record{Seq: 1}
	h.readCall(made, &Called{Verb: "update", Status: 200, ResourceVersion: "7", Wrote: []Written{{Resource: "pods", Name: "a", ResourceVersion: "7"}}})
	h.readCall(&Record{Seq: 2}, &Called{Verb: "update", Status: 200, ResourceVersion: "7", Object: Object{Resource: "pods", Name: "a"}})
	if got := h.objects[storedObject{"pods", "", "a"}].changed.origin().record; got != made {
		t.Errorf("the change was made by record %d, want %d", got.Seq, made.Seq)
	}
}

// A restore says what it has written also if the storage does not report it.
func TestHistoryAfterARestoreIntoACluster(t *testing.T) {
	h := newHistory(newJournal(64), 3)
	h.readCall(&Record{Seq: 1}, &Called{Verb: VerbRestore, Status: 200, ResourceVersion: "8", Wrote: []Written{{Resource: "pods", Name: "a", ResourceVersion: "8"}}})
	patch := &Record{Seq: 2}
	h.readCall(patch, &Called{Verb: "patch", Status: 200, ResourceVersion: "9", Object: Object{Resource: "pods", Name: "a"}})
	if got := h.objects[storedObject{"pods", "", "a"}].changed.origin().record; got != patch {
		t.Errorf("the change was made by record %d, want %d", got.Seq, patch.Seq)
	}
}

// An object that server-side apply has created, and one whose creation got no answer, have a creation.
func TestHistoryOfCreations(t *testing.T) {
	h := newHistory(newJournal(64), 8)
	put := func(seq uint64, c Called, name string) {
		c.Object = Object{Resource: "pods", Name: name}
		c.Wrote = []Written{{Resource: "pods", Name: name, ResourceVersion: strconv.FormatUint(seq, 10)}}
		h.read(&Record{Seq: seq, Event: &c})
	}
	put(1, Called{Verb: "patch", Status: 201}, "applied")
	put(2, Called{Verb: "update", Status: 200}, "applied")
	put(3, Called{Verb: "create", Status: 504, Error: "timeout"}, "late")
	for name, want := range map[string]uint64{"applied": 1, "late": 3} {
		if o := h.objects[storedObject{"pods", "", name}]; o == nil || o.created == nil || o.created.origin().record.Seq != want {
			t.Errorf("%s: %+v, want a creation by record %d", name, o, want)
		}
	}
}

// The version that led to a write may be the oldest one that is known: that of the write takes its place.
func TestHistoryKeepsTheCauseOfTheOldestVersion(t *testing.T) {
	j := newJournal(64)
	h := newHistory(j, 8)
	pod := Object{Resource: "pods", Name: "a"}
	write := func(version int, cause uint64) uint64 {
		return j.append(&Record{Event: &Called{Verb: "update", Status: 200, Object: pod, Cause: cause, Wrote: []Written{{Resource: "pods", Name: "a", ResourceVersion: strconv.Itoa(version)}}}})
	}
	first := write(1, 0)
	seen := j.append(&Record{Event: &Delivered{Controller: "client", Change: Updated, Object: pod, ResourceVersion: "1"}})
	for version := 2; version <= maxVersions; version++ {
		write(version, 0)
	}
	last := write(100, seen)
	h.advance()
	var kept []uint64
	for _, r := range h.recordsBefore(last) {
		kept = append(kept, r.Seq)
	}
	if want := []uint64{first, seen, last}; !slices.Equal(kept, want) {
		t.Errorf("kept %v, want %v", kept, want)
	}
}

// An event is kept only as long as the call that made its version is not known.
func TestHistoryForgetsTheEventOfAKnownVersion(t *testing.T) {
	h := newHistory(newJournal(64), 8)
	pod := Object{Resource: "pods", Name: "a"}
	h.read(&Record{Seq: 1, Event: &Delivered{Change: Added, Object: pod, ResourceVersion: "7"}})
	call := &Record{Seq: 2, Event: &Called{Verb: "create", Status: 201, Object: pod, Wrote: []Written{{Resource: "pods", Name: "a", ResourceVersion: "7"}}}}
	h.read(call)
	v := h.objects[storedObject{"pods", "", "a"}].find("7")
	if v.call == nil || v.call.record != call || v.seen != nil || v.room.record != call {
		t.Errorf("the version is %+v", v)
	}
}
