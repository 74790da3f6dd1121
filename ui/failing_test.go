package ui

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// The reason comes first: what is known from the row, or said by every such error, is left out.
func TestShortError(t *testing.T) {
	const rbac = `deployments.apps "shop" is forbidden: User "system:serviceaccount:shop:operator" cannot patch resource "deployments" in API group "apps" in the namespace "shop"`
	for err, want := range map[string]string{
		`pods "broken-" is forbidden: exceeded quota: small`:                                                 "exceeded quota: small",
		`create Pod web-0 in StatefulSet web failed error: pods "web-0" is forbidden: exceeded quota: small`: "exceeded quota: small",
		rbac: `cannot patch deployments in API group "apps" in the namespace "shop"`,
		`deployments.apps is forbidden: User "x" cannot list resource "deployments" in API group "apps" at the cluster scope`:                                  `cannot list deployments in API group "apps" at the cluster scope`,
		`Internal error occurred: failed calling webhook "a.example": connection refused`:                                                                      `failed calling webhook "a.example": connection refused`,
		`Operation cannot be fulfilled on deployments.apps "web": the object has been modified`:                                                                "conflict",
		`pods "broken-" is forbidden: exceeded quota: small, requested: pods=1, used: pods=10, limited: pods=10`:                                               "exceeded quota: small, pods 10+1 of 10",
		`Error creating: pods "a" is forbidden: exceeded quota: b, requested: limits.cpu=1,pods=1, used: limits.cpu=500m,pods=2, limited: limits.cpu=1,pods=2`: "exceeded quota: b, limits.cpu 500m+1 of 1, pods 2+1 of 2",
		`pods "a" is forbidden: exceeded quota: b, requested: pods=1, used: cpu=2, limited: cpu=2`:                                                             "exceeded quota: b, requested: pods=1, used: cpu=2, limited: cpu=2",
		`deployments.apps "shop" not found`:    "not found",
		"connection refused":                   "connection refused",
		`create: pods "x" already exists`:      `create: pods "x" already exists`,
		"":                                     "",
		`nodes "a": the object was renamed`:    "the object was renamed",
		`exit code 1: pods "x" already exists`: `exit code 1: pods "x" already exists`,
	} {
		if got := ShortError(err); got != want {
			t.Errorf("%q: got %q, want %q", err, got, want)
		}
	}
}

// An error that names another object than the key keeps its name.
func TestShortErrorOf(t *testing.T) {
	for _, c := range []struct{ key, err, want string }{
		{"default/w2", `storageclass.storage.k8s.io "nosuch" not found`, `storageclass "nosuch" not found`},
		{"default/w2", `persistentvolumeclaims "w2" not found`, "not found"},
		{"w2", `configmaps "w" not found`, `configmaps "w" not found`},
		{"default/w2", `pods "w2-1" is forbidden: exceeded quota: small`, "exceeded quota: small"},
	} {
		if got := ShortErrorOf(c.err, c.key); got != c.want {
			t.Errorf("%s, %q: got %q, want %q", c.key, c.err, got, c.want)
		}
	}
}

// A conflict passes, unless it goes on; one that was injected is as any other. So does a wait for a stale cache.
func TestConflictsThatGoOnFail(t *testing.T) {
	const stale = "read version: 7 is not as new as written version: 9 for group resource pods"
	const injected = `Operation cannot be fulfilled on sites.example.com "shop": ` + observe.InjectedFault
	for _, c := range []struct {
		err   string
		times int
		want  bool
	}{
		{"the object has been modified", 5, false},
		{"the object has been modified", 6, true},
		{injected, 2, false},
		{stale, 5, false},
		{stale, 6, true},
		{injected, 13, true},
		{"no luck", 1, true},
	} {
		if got := IsFailing(observe.FailingKey{Error: c.err, Times: c.times}, true); got != c.want {
			t.Errorf("%q %d times: got %v", c.err, c.times, got)
		}
	}
	if got := ShortError(injected); got != "conflict: "+observe.InjectedFault {
		t.Error(got)
	}
}

// The next attempt of a key that fails is shown, unless its controller does not run.
func TestNextAttempt(t *testing.T) {
	now := time.Now()
	f := observe.FailingKey{Queue: "site", Key: "ns/shop", KeyBasis: observe.BasisQueue, Times: 3, Due: now.Add(4 * time.Second), Error: "no luck"}
	for state, want := range map[string]string{
		"running": "site: ns/shop, 3 times in a row, next attempt in 4.0 s: no luck",
		"off":     "site: ns/shop, failed before the stop, 3 times in a row: no luck",
	} {
		if got := describeFailingKey(state, f, now); got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
	f.Early = true
	if got, want := describeFailingKey("running", f, now), "site: ns/shop, 3 times in a row, synced again because of other events: no luck"; got != want {
		t.Errorf("early: %q, want %q", got, want)
	}
}

// What a controller of an operator does not do is said although the control plane is settled.
func TestSettledWarnings(t *testing.T) {
	now := time.Now()
	s := observe.Snapshot{Time: now, Controllers: []observe.Controller{
		{Name: "job-controller", State: "off"},
		{Name: "hpa", State: "running", Unlisted: "failed to list HPAs: not found"},
		{Name: "chaos/page", State: "off", Reason: "its process has ended", Since: now.Add(-3 * time.Second)},
		{Name: "chaos/held", State: "paused", Process: "off", Reason: "its writes are held, its process has ended", Since: now.Add(-4 * time.Second)},
		{Name: "chaos/site", State: "running", Failing: []observe.FailingKey{
			{Queue: "site", Key: "default/f1", KeyBasis: observe.BasisQueue, Times: 14, Error: "no luck", Due: now.Add(time.Minute)},
			{Queue: "site", Key: "default/f2", KeyBasis: observe.BasisQueue, Times: 1, Error: "the object has been modified"},
		}},
	}}
	s.Clients = []observe.Client{{Name: "kubectl (admin)"}, {Name: "shop (bob)", Refused: "list of configmaps is refused: forbidden"},
		{Name: "keda-operator (admin)", State: "paused", Reason: "its writes are held"}, {Name: "slow (admin)", State: "running", Reason: "each call waits 20s", Interventions: observe.Interventions{Delay: 20 * time.Second}},
		{Name: "faulty (admin)", State: "running", Reason: "30% of its calls fail: 409"}}
	s.Timers = []observe.Timer{{What: "Pod default/job", Due: now.Add(time.Second)}}
	for i := range maxFailing + 1 {
		s.Timers = append(s.Timers, observe.Timer{What: fmt.Sprintf("Pod default/web-%d", i), Due: now.Add(9 * time.Second), Reason: "CrashLoopBackOff"})
	}
	s.Problems = []observe.Problem{
		{Kind: "Pod", What: observe.CannotStart, Count: 2, Objects: []observe.Object{{Kind: "Pod", Namespace: "default", Name: "a"}}},
		{Kind: "Pod", What: observe.WaitsForRestart, Count: maxFailing + 1},
		{Kind: "Job", What: observe.HasFailed, Count: 1, Objects: []observe.Object{{Kind: "Job", Namespace: "default", Name: "j"}}},
		{Kind: "Node", What: observe.NotReady, Count: 2, Objects: []observe.Object{{Kind: "Node", Name: "node-1"}, {Kind: "Node", Name: "node-2"}}},
		{Kind: "write", What: observe.KeepsFailing, Count: 1}, // the list of failing writes says more
	}
	want := []string{
		"settled, but hpa waits: a kind that it needs cannot be listed: failed to list HPAs: not found",
		"settled, but chaos/page does not run: its process has ended, 3.0 s ago",
		"settled, but chaos/held does not run: its writes are held, its process has ended, 4.0 s ago",
		"settled, but chaos/site is failing: site: default/f1, 14 times in a row, next attempt in 1 m 00 s: no luck",
		"settled, but shop (bob): list of configmaps is refused: forbidden",
		"settled, but keda-operator (admin) is paused: its writes are held",
		"settled, but slow (admin) is delayed: each call waits 20s",
		"settled, but 2 Pods cannot start: default/a and 1 more",
		"settled, but Pod default/web-0 waits for a restart: CrashLoopBackOff, next attempt in 9.0 s",
		"settled, but Pod default/web-1 waits for a restart: CrashLoopBackOff, next attempt in 9.0 s",
		"settled, but Pod default/web-2 waits for a restart: CrashLoopBackOff, next attempt in 9.0 s",
		"settled, but 1 more Pod waits for a restart",
		"settled, but 1 Job failed: default/j",
		"settled, but 2 Nodes are not Ready: node-1, node-2",
	}
	if got := SettledWarnings(s, nil); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got, want := DescribeFailing(s), "1 key fails, 2 Pods cannot start, 4 Pods wait for a restart, 1 Job failed, 2 Nodes are not Ready, 1 write fails, reads of shop are refused"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := DescribeFailing(MergeProblems(s)), "1 key fails, 9 objects have a problem, 1 write fails, reads of shop are refused"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	want = []string{"the last sync of chaos/site failed: site: default/f1, 14 times in a row, next attempt in 1 m 00 s: no luck"}
	if got := FailingFor(s, "default", "f1", "it is not ready"); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	want[0] = strings.TrimSuffix(want[0], ": no luck") // it is not said twice
	if got := FailingFor(s, "default", "f1", "FailedGetScale: unable to get the scale: no luck"); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := FailingFor(s, "default", "f1", "FailedGetScale: no luckier try"); !strings.HasSuffix(got[0], ": no luck") {
		t.Errorf("without the error: got %q", got)
	}
}

func TestMoreProblemLines(t *testing.T) {
	named := []observe.Object{{Name: "a"}, {Name: "b"}}
	got := MoreProblemLines(observe.Snapshot{Problems: []observe.Problem{
		{Kind: "Pod", What: observe.CannotStart, Count: 10, Objects: named},
		{Kind: "Pod", What: observe.Unschedulable, Count: 2, Objects: named},
		{Kind: "Job", What: observe.HasFailed, Count: 3, Objects: named},
		{Kind: "write", What: observe.KeepsFailing, Count: 9, Objects: named}, // which have lines of their own
	}}, nil)
	if want := []string{"and 8 more Pods cannot start", "and 1 more Job failed"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSummarizeProblems has no, one and several problems of objects.
func TestSummarizeProblems(t *testing.T) {
	object := func(name string) observe.Object { return observe.Object{Namespace: "default", Name: name} }
	pods := observe.Problem{Kind: "Pod", What: observe.CannotStart, Count: 4, Objects: []observe.Object{object("a"), object("b")}}
	job := observe.Problem{Kind: "Job", What: observe.HasFailed, Count: 1, Objects: []observe.Object{object("once")}}
	node := observe.Problem{Kind: "Node", What: observe.NotReady, Count: 1, Objects: []observe.Object{{Kind: "Node", Name: "node-1"}}}
	writes := observe.Problem{Kind: "write", What: observe.KeepsFailing, Count: 2, Objects: []observe.Object{{Kind: "ConfigMap", Namespace: "default", Name: "c"}}}
	for _, tc := range []struct {
		list []observe.Problem
		want string
	}{
		{nil, ""},
		{[]observe.Problem{job}, "1 Job failed: default/once"},
		{[]observe.Problem{node}, "1 Node is not Ready: node-1"},
		{[]observe.Problem{writes}, "2 writes fail: ConfigMap default/c and 1 more"},
		{[]observe.Problem{pods, job}, "4 Pods cannot start: default/a and 3 more; 1 Job failed"},
	} {
		if got := SummarizeProblems(observe.Snapshot{Problems: tc.list}); got != tc.want {
			t.Errorf("%d problems: got %q", len(tc.list), got)
		}
	}
}

// Of the writes of a client that fail again and again, some are named and the others counted.
func TestSettledNamesFailingWrites(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	shop := observe.Client{Name: "shop (bob)", Errors: 25, Watches: []observe.ClientWatch{{Resource: "sites.example.com"}}}
	s := observe.Snapshot{Time: at, Clients: []observe.Client{shop}}
	var records []observe.Record
	for i := range maxFailing + 2 {
		for range 3 + i {
			records = append(records, observe.Record{Seq: uint64(len(records) + 1), Time: at, Event: &observe.Called{
				Controller: shop.Name, Client: &observe.Caller{}, Verb: "update", Status: 403, Error: "forbidden", Began: at,
				Object: observe.Object{Kind: "Pod", Resource: "pods", Namespace: "shop", Name: fmt.Sprintf("p%d", i)},
			}})
		}
	}
	failing, err := trace.FindFailingWrites(t.Context(), &fakeSource{records: records}, s)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"settled, but shop (bob) fails to update Pod shop/p4, 7 times in a row: 403: forbidden",
		"settled, but shop (bob) fails to update Pod shop/p3, 6 times in a row: 403: forbidden",
		"settled, but shop (bob) fails to update Pod shop/p2, 5 times in a row: 403: forbidden",
		"settled, but shop (bob) fails to make 2 more writes",
	}
	if got := SettledWarnings(s, failing); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestSettledSaysWhatFails: neither the status nor the plain output says only "settled" while
// keys fail.
func TestSettledSaysWhatFails(t *testing.T) {
	s := busySnapshot() // a controller has failed, and of five keys that fail one has a conflict
	s.Controllers[4].Failing[4].Error = "the object has been modified"
	s.Process.RequestRate = 0
	headline := func() string {
		var b bytes.Buffer
		if err := WriteStatus(&b, s, "", false, maxStatusWidth); err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(b.String(), ";")
		return text
	}
	plain := func() string {
		var b bytes.Buffer
		p := NewPlainWriter(&b, &fakeSource{})
		for range 2 {
			if err := p.WriteSnapshot(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Flush(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	s.Process.Settled = true
	const want = "settled, but 1 controller failed, 4 keys fail"
	if got := headline(); got != "default is ready and "+want {
		t.Errorf("status: %q", got)
	}
	if got := plain(); !strings.HasSuffix(got, want+"\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("plain: %q", got)
	}
	s.Process.Settled = false // first failures are not counted while controllers work
	if got := plain(); !strings.Contains(got, "; 1 controller failed, 2 keys fail\n") {
		t.Errorf("plain: %q", got)
	}
	s.Process.Settled = true
	for i := range s.Controllers {
		if c := &s.Controllers[i]; len(c.Failing) > 0 {
			c.State, c.Reason = "off", observe.ReasonStopped
		}
	}
	if got := headline(); got != "default is ready and settled, but 1 controller failed, 4 keys failed before the stop" {
		t.Errorf("status of a stopped controller: %q", got)
	}
	var b bytes.Buffer
	if err := WriteStatus(&b, s, "", true, maxStatusWidth); err != nil || !strings.Contains(b.String(), "off     replicaset: default/web, failed before the stop, 4 times in a row: exceeded quota: compute\n") {
		t.Errorf("status of a stopped controller: %v, %s", err, b.String())
	}
	s.Controllers = []observe.Controller{s.Controllers[1]}
	s.Process.Settled = true
	if got := headline(); got != "default is ready and settled" {
		t.Errorf("status: %q", got)
	}
}

// TestMoreProblemLinesOfOneOwner: the first object of each owner is named, so that others are of the same owner if all have one.
func TestMoreProblemLinesOfOneOwner(t *testing.T) {
	pod := func(name string) observe.Object { return observe.Object{Kind: "Pod", Namespace: "default", Name: name} }
	set := func(name string) observe.Object {
		return observe.Object{Kind: "ReplicaSet", Namespace: "default", Name: name}
	}
	s := observe.Snapshot{Problems: []observe.Problem{{Kind: "Pod", What: observe.WaitsForRestart, Count: 4, Objects: []observe.Object{pod("a"), pod("b"), pod("c")}}}}
	for want, owners := range map[string][3]observe.Object{
		"and 1 more Pod of ReplicaSet crash waits for a restart": {set("crash"), set("crash"), set("crash")},
		"and 1 more Pod waits for a restart":                     {set("crash"), set("other"), set("crash")},
	} {
		var unhealthy []control.UnhealthyObject
		for i, of := range owners {
			unhealthy = append(unhealthy, control.UnhealthyObject{Object: s.Problems[0].Objects[i], Owner: of})
		}
		if got := MoreProblemLines(s, unhealthy); !slices.Equal(got, []string{want}) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := MoreProblemLines(s, nil); !slices.Equal(got, []string{"and 1 more Pod waits for a restart"}) {
		t.Errorf("without owners: %q", got)
	}
}
