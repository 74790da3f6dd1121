package observe

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// An object whose removal no recorded call has made is forgotten once its deletion was delivered, but not one that a
// controller's watch has only ceased to select.
func TestHistoryForgetsRemovedObjects(t *testing.T) {
	pod := Object{Resource: "pods", Namespace: "ns", Name: "a"}
	call := func(verb string, version int) Event { // as with storage that does not report
		return &Called{Verb: verb, Status: 200, Object: pod, ResourceVersion: fmt.Sprint(version)}
	}
	stored := func(version int, deleted bool) Event {
		return &Called{Verb: "update", Status: 200, Object: pod, Wrote: []Written{{Resource: "pods", Namespace: "ns", Name: "a", ResourceVersion: fmt.Sprint(version), Deleted: deleted}}}
	}
	event := func(change Change, version int) Event {
		return &Delivered{Controller: "c", Change: change, Object: pod, ResourceVersion: fmt.Sprint(version)}
	}
	for name, tc := range map[string]struct {
		events []Event
		kept   bool
	}{
		"unrecorded removal":                 {[]Event{stored(1, false), event(Deleted, 2)}, false},
		"several controllers":                {[]Event{stored(1, false), event(Deleted, 2), event(Deleted, 2)}, false},
		"answered removal":                   {[]Event{call("create", 1), call("delete", 2), event(Deleted, 2)}, false},
		"removal that is answered later":     {[]Event{call("create", 1), event(Deleted, 2), call("delete", 2)}, false},
		"event after the removal":            {[]Event{stored(1, false), stored(2, true), event(Updated, 1), event(Deleted, 2)}, false},
		"created again":                      {[]Event{stored(1, false), stored(3, false), event(Deleted, 2)}, true},
		"created again later":                {[]Event{stored(1, false), event(Deleted, 2), event(Added, 3)}, true},
		"late event":                         {[]Event{stored(2, false), event(Deleted, 3), event(Updated, 1)}, false},
		"not selected any more":              {[]Event{stored(1, false), stored(2, false), event(Deleted, 2)}, true},
		"not selected, the call comes later": {[]Event{stored(1, false), event(Deleted, 2), stored(2, false)}, true},
		"not selected, seen by others":       {[]Event{call("create", 1), event(Deleted, 2), event(Updated, 2)}, true},
		"removed after that":                 {[]Event{stored(1, false), event(Deleted, 2), stored(2, false), event(Deleted, 3)}, false},
		"no version":                         {[]Event{stored(1, false), &Delivered{Controller: "c", Change: Deleted, Object: pod}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(64)
				h := newHistory(j, 8)
				for _, e := range tc.events {
					j.append(&Record{Time: time.Now(), Event: e})
				}
				h.advance()
				if len(h.objects) > 1 {
					t.Errorf("%d objects", len(h.objects))
				}
				time.Sleep(removalDelay)
				h.advance()
				if kept := h.objects[storedObject{"pods", "ns", "a"}] != nil; kept != tc.kept {
					t.Errorf("it is kept: %v, want %v", kept, tc.kept)
				}
				if len(h.removed) > 0 {
					t.Errorf("%d removals are kept", len(h.removed))
				}
			})
		})
	}
}

// Objects that are gone are forgotten before those that exist, and their number is bounded.
func TestHistoryForgetsRemovedObjectsFirst(t *testing.T) {
	j := newJournal(64)
	h := newHistory(j, 3)
	appendEvent := func(change Change, name string, version int) {
		j.append(&Record{Time: time.Now(), Event: &Delivered{Controller: "c", Change: change, Object: Object{Resource: "pods", Name: name}, ResourceVersion: fmt.Sprint(version)}})
		h.advance()
	}
	appendEvent(Added, "old", 1)
	for i := range 20 {
		appendEvent(Added, fmt.Sprint(i), 2*i+2)
		appendEvent(Deleted, fmt.Sprint(i), 2*i+3)
	}
	if h.objects[storedObject{"pods", "", "old"}] == nil || len(h.objects) > 3 || len(h.removed) > 3 {
		t.Errorf("%d objects, %d removals: %v", len(h.objects), len(h.removed), h.objects)
	}
}

func TestVersionNumber(t *testing.T) {
	for version, want := range map[string]uint64{"17": 17, "": 0, "a": 0, "-1": 0, "99999999999999999999": 0} {
		if got := VersionNumber(version); got != want {
			t.Errorf("%q: got %d, want %d", version, got, want)
		}
	}
}
