package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

var (
	workStart = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	hangs     = observe.RunningSync{Queue: "site", ID: 5, Key: "default/hang", KeyBasis: observe.BasisQueue, Since: workStart}
)

func workSite(name string) observe.Object {
	return observe.Object{Group: "example.com", Resource: "sites", Kind: "Site", Namespace: "default", Name: name}
}

// queued is the record of an event that has added its key to the queue "site", seconds after workStart.
func queued(seconds int, o observe.Object, add uint64) observe.Record {
	return observe.Record{Seq: add, Time: workStart.Add(time.Duration(seconds) * time.Second), Event: &observe.Delivered{
		Controller: "operator/site", Change: observe.Added, Object: o, Queues: []string{"site"}, Adds: []uint64{add},
	}}
}

func workState(seconds int, controller string, running ...observe.RunningSync) observe.Snapshot {
	return observe.Snapshot{
		Time:        workStart.Add(time.Duration(seconds) * time.Second),
		Controllers: []observe.Controller{{Name: "operator/site", State: controller, Running: running}},
		Queues:      []observe.Queue{{Controller: "operator/site", Name: "site", Depth: 2}},
	}
}

// holding returns the state with a write of the controller that is held.
func holding(s observe.Snapshot) observe.Snapshot {
	s.Controllers[0].Held = 1
	return s
}

// Of an object that a controller has not got to, it says what its key waits for.
func TestWorkForAnObject(t *testing.T) {
	var records []observe.Record
	for i, name := range []string{"hang", "q", "new"} {
		records = append(records, queued(i, workSite(name), uint64(i+1)))
	}
	for name, tc := range map[string]struct {
		now   observe.Snapshot
		about observe.Object
		want  []string
	}{
		"running":        {workState(40, "running", hangs), workSite("hang"), []string{"operator/site has been syncing default/hang since 12:00:00.000 (40.0 s)."}},
		"waiting":        {workState(40, "running", hangs), workSite("q"), []string{"default/q most likely waits in the queue of operator/site since 12:00:01.000 (39.0 s), behind default/hang, which has been syncing since 12:00:00.000 (40.0 s)."}},
		"paused":         {workState(40, "paused", hangs), workSite("q"), []string{"default/q most likely waits in the queue of operator/site since 12:00:01.000 (39.0 s), behind default/hang, which has been syncing since 12:00:00.000 (40.0 s)."}},
		"held":           {holding(workState(40, "paused", hangs)), workSite("hang"), []string{"operator/site has been syncing default/hang since 12:00:00.000 (40.0 s): the controller is paused and its writes are held."}},
		"none held":      {workState(40, "paused", hangs), workSite("hang"), []string{"operator/site has been syncing default/hang since 12:00:00.000 (40.0 s)."}},
		"lost":           {workState(40, "unknown", hangs), workSite("hang"), []string{"operator/site had been syncing default/hang since 12:00:00.000 when its process closed its connection without a last report."}},
		"behind lost":    {workState(40, "unknown", hangs), workSite("q"), []string{"default/q most likely waits in the queue of operator/site since 12:00:01.000 (39.0 s): its process closed its connection without a last report."}},
		"just now":       {workState(2, "running", hangs), workSite("new"), nil},
		"began just now": {workState(0, "running", hangs), workSite("hang"), nil},
		"another object": {workState(40, "running", hangs), workSite("other"), nil},
		"another kind":   {workState(40, "running", hangs), pod("hang"), nil},
	} {
		if got := Working(Options{State: tc.now}, records, tc.about, Style{}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// A snapshot lists the first ten waiting keys of a queue. The others wait, too.
func TestWorkInADeepQueue(t *testing.T) {
	records := []observe.Record{queued(0, workSite("hang"), 1)}
	now := workState(40, "running", hangs)
	now.Queues[0].Depth = 20
	for i := range 20 {
		o := workSite(fmt.Sprintf("q%d", i))
		records = append(records, queued(1, o, uint64(i+2)))
		if i < 10 {
			now.Queues[0].Waiting = append(now.Queues[0].Waiting, o)
		}
	}
	const want = "default/q19 most likely waits in the queue of operator/site since 12:00:01.000 (39.0 s), behind default/hang, which has been syncing since 12:00:00.000 (40.0 s)."
	if got := Working(Options{State: now}, records, workSite("q19"), Style{}); !slices.Equal(got, []string{want}) {
		t.Errorf("got %q", got)
	}
}

// A key does not wait once a sync has taken it, or if nothing shows that the queue has such keys.
func TestKeysThatDoNotWait(t *testing.T) {
	site, owned := workSite("q"), observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "q-1"}
	ended := func(seconds int, s observe.Synced) observe.Record {
		s.Controller, s.Queue, s.ID = "operator/site", "site", 7
		return observe.Record{Seq: 9, Time: workStart.Add(time.Duration(seconds) * time.Second), Event: &s}
	}
	empty, parked := workState(40, "running"), workState(40, "running")
	empty.Queues[0].Depth, parked.Queues[0].Parked = 0, true
	for name, tc := range map[string]struct {
		now     observe.Snapshot
		records []observe.Record
		about   observe.Object
	}{
		"its add was taken":          {workState(40, "running"), []observe.Record{queued(1, site, 2), ended(2, observe.Synced{Add: 2})}, site},
		"its add or another one was": {workState(40, "running"), []observe.Record{queued(1, site, 2), ended(2, observe.Synced{Add: 1, LastAdd: 3})}, site},
		"recorded before its event":  {workState(40, "running"), []observe.Record{ended(1, observe.Synced{Add: 2}), queued(1, site, 2)}, site},
		"its key was synced since":   {workState(40, "running"), []observe.Record{queued(1, site, 2), ended(2, observe.Synced{Key: "default/q"})}, site},
		"its key runs":               {workState(40, "running", observe.RunningSync{Queue: "site", ID: 7, Key: "default/q", Since: workStart.Add(2 * time.Second)}), []observe.Record{queued(1, site, 2)}, site},
		"an unknown key runs":        {workState(40, "running", observe.RunningSync{Queue: "site", ID: 7, Since: workStart.Add(2 * time.Second)}), []observe.Record{queued(1, site, 2)}, site},
		"nothing waits":              {empty, []observe.Record{queued(1, site, 2)}, site},
		"parked":                     {parked, []observe.Record{queued(1, site, 2)}, site},
		"its owner's key waits":      {workState(40, "running", hangs), []observe.Record{queued(0, workSite("hang"), 1), queued(1, owned, 2)}, owned},
	} {
		if got := Working(Options{State: tc.now}, tc.records, tc.about, Style{}); len(got) > 0 {
			t.Errorf("%s: got %q", name, got)
		}
	}
	again := []observe.Record{queued(1, site, 2), ended(3, observe.Synced{Add: 2, Key: "default/q"}), queued(4, site, 3)}
	if got := Working(Options{State: workState(40, "running")}, again, site, Style{}); len(got) != 1 {
		t.Errorf("queued again: got %q", got)
	}
	ambiguous := []observe.Record{queued(1, site, 2), ended(3, observe.Synced{Add: 1, LastAdd: 3, Key: "default/p", KeyBasis: observe.BasisQueue})}
	if got := Working(Options{State: workState(40, "running")}, ambiguous, site, Style{}); len(got) != 1 {
		t.Errorf("another key was taken: got %q", got)
	}
	if got := Working(Options{State: workState(40, "running", observe.RunningSync{Queue: "site", ID: 7, Since: workStart})}, again[2:], site, Style{}); len(got) != 1 {
		t.Errorf("an unknown key runs since before: got %q", got)
	}
}

// The keys of a built-in controller's queue are those of a kind whose keys it has synced.
func TestKeysOfAQueueOfAnotherName(t *testing.T) {
	event := func(seq uint64, o observe.Object) observe.Record {
		return observe.Record{Seq: seq, Time: workStart, Event: &observe.Delivered{Controller: "endpointslice-controller", Object: o, Queues: []string{"endpoint_slice"}, Adds: []uint64{seq}}}
	}
	service := func(name string) observe.Object {
		return observe.Object{Resource: "services", Kind: "Service", Namespace: "default", Name: name}
	}
	records := []observe.Record{event(1, service("a")), event(2, service("b")), event(3, pod("a-1"))}
	now := observe.Snapshot{
		Time:        workStart.Add(time.Minute),
		Queues:      []observe.Queue{{Controller: "endpointslice-controller", Name: "endpoint_slice", Depth: 2}},
		Controllers: []observe.Controller{{Name: "endpointslice-controller", State: "paused"}},
	}
	if got := Working(Options{State: now}, records, service("b"), Style{}); len(got) > 0 {
		t.Errorf("no key is known: got %q", got)
	}
	records = append(records, observe.Record{Seq: 4, Time: workStart.Add(time.Second), Event: &observe.Synced{
		Controller: "endpointslice-controller", Queue: "endpoint_slice", ID: 1, Key: "default/a", KeyBasis: observe.BasisLog, Add: 1,
	}})
	const want = "default/b most likely waits in the queue of endpointslice-controller since 12:00:00.000 (1 m 00 s): the controller is paused."
	if got := Working(Options{State: now}, records, service("b"), Style{}); !slices.Equal(got, []string{want}) {
		t.Errorf("got %q", got)
	}
	if got := Working(Options{State: now}, records, pod("a-1"), Style{}); len(got) > 0 {
		t.Errorf("a Pod of the Service: got %q", got)
	}
}

// The key of a built-in controller's sync is certain only when it ends. Until then it is that of the object whose event
// has queued it, which is another one if a Pod has queued the key of its owner.
func TestWorkOfABuiltInController(t *testing.T) {
	apps := func(resource, kind, name string) observe.Object {
		return observe.Object{Group: "apps", Resource: resource, Kind: kind, Namespace: "default", Name: name}
	}
	deployment, set := apps("deployments", "Deployment", "z"), apps("replicasets", "ReplicaSet", "z-1")
	event := func(seq uint64, controller, queue string, o observe.Object) observe.Record {
		return observe.Record{Seq: seq, Time: workStart, Event: &observe.Delivered{Controller: controller, Object: o, Queues: []string{queue}, Adds: []uint64{seq}}}
	}
	records := []observe.Record{
		event(1, "deployment-controller", "deployment", deployment),
		{Seq: 2, Time: workStart, Event: &observe.Called{Controller: "deployment-controller", Verb: "create", Object: set, Status: 201, Sync: 3}},
		event(3, "replicaset-controller", "replicaset", set),
		event(4, "replicaset-controller", "replicaset", pod("z-1-a")),
		{Seq: 5, Time: workStart, Event: &observe.Synced{Controller: "deployment-controller", Queue: "deployment", ID: 3, Key: "default/z", KeyBasis: observe.BasisLog}},
	}
	running := func(controller, queue, key string, basis observe.Basis, writing int64) observe.Snapshot {
		return observe.Snapshot{Time: workStart.Add(9 * time.Second), Controllers: []observe.Controller{{
			Name: controller, State: "running", Writing: writing,
			Running: []observe.RunningSync{{Queue: queue, ID: 7, Key: key, KeyBasis: basis, Since: workStart}},
		}}}
	}
	paused := holding(running("replicaset-controller", "replicaset", "default/z-1", observe.BasisEvent, 1))
	paused.Controllers[0].State = observe.StatePaused
	again := slices.Concat(records, records[1:2]) // the ReplicaSet was deleted, and created again with its name
	delayed := running("replicaset-controller", "replicaset", "default/z-1", observe.BasisEvent, 1)
	delayed.Controllers[0].Reason = "each call waits 6s"
	const hangs = "replicaset-controller most likely has been syncing default/z-1 since 12:00:00.000 (9.0 s): the controller waits for the answer to 1 write, as from a webhook."
	for name, tc := range map[string]struct {
		now   observe.Snapshot
		about observe.Object
		want  []string
	}{
		"its event":          {running("replicaset-controller", "replicaset", "default/z-1", observe.BasisEvent, 1), set, []string{hangs}},
		"its Deployment":     {running("replicaset-controller", "replicaset", "default/z-1", observe.BasisEvent, 1), deployment, []string{hangs}},
		"a call":             {running("replicaset-controller", "replicaset", "default/z-1", observe.BasisCall, 1), set, []string{hangs}},
		"paused":             {paused, set, nil},
		"delayed":            {delayed, set, []string{strings.TrimSuffix(hangs, ", as from a webhook.") + "."}},
		"another ReplicaSet": {running("replicaset-controller", "replicaset", "default/z-1", observe.BasisEvent, 1), apps("replicasets", "ReplicaSet", "z-2"), nil},
		"the event of a Pod": {running("replicaset-controller", "replicaset", "default/z-1-a", observe.BasisEvent, 1), pod("z-1-a"), nil},
		"a ReplicaSet of it": {running("deployment-controller", "deployment", "default/z-1", observe.BasisCall, 1), set, nil},
	} {
		if got := Working(Options{State: tc.now}, records, tc.about, Style{}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q", name, got)
		}
		if got := Working(Options{State: tc.now}, again, tc.about, Style{}); !slices.Equal(got, tc.want) {
			t.Errorf("%s, created again: got %q", name, got)
		}
	}
}
