package trace

import (
	"slices"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Of an object that a controller has not got to, it says what its key waits for.
func TestWorkForAnObject(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	site := func(name string) observe.Object {
		return observe.Object{Group: "example.com", Resource: "sites", Kind: "Site", Namespace: "default", Name: name}
	}
	var records []observe.Record
	for i, name := range []string{"hang", "q", "new"} {
		records = append(records, observe.Record{Seq: uint64(i + 1), Time: at.Add(time.Duration(i) * time.Second), Event: &observe.Delivered{
			Controller: "operator/site", Change: observe.Added, Object: site(name), Queues: []string{"site"},
		}})
	}
	running := observe.RunningSync{Queue: "site", ID: 5, Key: "default/hang", KeyBasis: observe.BasisQueue, Since: at}
	state := func(seconds int, controller string) observe.Snapshot {
		return observe.Snapshot{
			Time:        at.Add(time.Duration(seconds) * time.Second),
			Controllers: []observe.Controller{{Name: "operator/site", State: controller, Running: []observe.RunningSync{running}}},
			Queues:      []observe.Queue{{Controller: "operator/site", Name: "site", Waiting: []observe.Object{site("q"), site("new")}}},
		}
	}
	for name, tc := range map[string]struct {
		now   observe.Snapshot
		about observe.Object
		want  []string
	}{
		"running":        {state(40, "running"), site("hang"), []string{"operator/site has been syncing default/hang since 12:00:00.000 (40.0 s)."}},
		"waiting":        {state(40, "running"), site("q"), []string{"default/q waits in the queue of operator/site since 12:00:01.000 (39.0 s), behind default/hang, which has been syncing since 12:00:00.000 (40.0 s)."}},
		"paused":         {state(40, "paused"), site("q"), []string{"default/q waits in the queue of operator/site since 12:00:01.000 (39.0 s): the controller is paused."}},
		"just now":       {state(2, "running"), site("new"), nil},
		"began just now": {state(0, "running"), site("hang"), nil},
		"another object": {state(40, "running"), site("other"), nil},
		"another kind":   {state(40, "running"), pod("hang"), nil},
	} {
		if got := Working(tc.now, records, tc.about, Style{}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
