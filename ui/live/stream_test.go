package live

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// The namespace controller and a lesson delete the collections of all kinds, of most of which there is nothing:
// Activity leaves that out unless everything is shown.
func TestActivityLeavesOutEmptyCollections(t *testing.T) {
	removed := []observe.Written{{Resource: "configmaps", Namespace: "gone", Name: "x", Deleted: true}}
	for name, tc := range map[string]struct {
		call observe.Called
		want bool
	}{
		"nothing is there": {observe.Called{Status: 200}, false},
		"something was":    {observe.Called{Status: 200, Wrote: removed}, true},
		"a failure":        {observe.Called{Status: 403}, true},
		"of a lesson":      {observe.Called{Status: 200, Client: &observe.Caller{User: "a"}}, false},
	} {
		tc.call.Controller, tc.call.Verb = "namespace-controller", "deletecollection"
		for _, screen := range []screenKind{queuesScreen, controllerScreen} {
			if got := (model{reported: true}).recordFilter(screen)(&tc.call); got != tc.want {
				t.Errorf("%s, screen %d: shown is %v", name, screen, got)
			}
		}
		if !(model{}).recordFilter(queuesScreen)(&tc.call) {
			t.Errorf("%s: not shown, and it is not known what was removed", name)
		}
		if !(model{showAll: true, reported: true}).recordFilter(queuesScreen)(&tc.call) {
			t.Errorf("%s: not shown with everything", name)
		}
	}
}

// Activity leaves out the lists of the informer of a kind that is not served any more.
func TestActivityLeavesOutUnservedKinds(t *testing.T) {
	for status, want := range map[int]bool{404: false, 500: true} {
		if got := (model{}).recordFilter(queuesScreen)(&observe.Called{Controller: "shared-informers", Verb: "list", Status: status}); got != want {
			t.Errorf("%d: shown is %v", status, got)
		}
	}
}

// An event of a client is recorded with its first write, and stands before that and others of that time.
func TestActivityIsInOrderOfTime(t *testing.T) {
	at := func(ms int, e observe.Event) observe.Record {
		return observe.Record{Time: time.UnixMilli(int64(ms)), Event: e}
	}
	first, second, event := &observe.Called{Verb: "patch"}, &observe.Called{Verb: "update"}, &observe.Delivered{}
	var s stream
	s.query.Limit = 10
	s = s.addPage(observe.Page{Records: []observe.Record{at(10, first), at(30, second), at(20, event)}}, func(observe.Event) bool { return true })
	for i, want := range []observe.Event{first, event, second} {
		if s.entries[i].record.Event != want || i > 0 && s.entries[i].id <= s.entries[i-1].id {
			t.Errorf("entry %d: %+v", i, s.entries[i])
		}
	}
}

// A queue with one worker has no plural.
func TestFreeWorkers(t *testing.T) {
	for workers, want := range map[int]string{1: "1 worker is free", 5: "5 workers are free"} {
		b := &detailBuilder{w: 80}
		model{}.withTheme(newTheme(false, true, false)).addWorkerBoxes(b, &observe.Queue{Name: "q", Workers: workers}, observe.Controller{})
		var text strings.Builder
		for _, l := range b.lines {
			text.WriteString(l.line.plainText() + "\n")
		}
		if !strings.Contains(text.String(), want) {
			t.Errorf("want %q in %q", want, text.String())
		}
	}
}
