package observe

import (
	"slices"
	"sync"
	"testing"
	"time"
)

func logEvent(message string) *Logged { return &Logged{Controller: "c", Message: message} }

func TestJournalKeepsTheNewest(t *testing.T) {
	j := newJournal(4)
	for range 10 {
		j.append(&Record{Time: time.Now(), Event: logEvent("x")})
	}
	p, _ := j.Records(t.Context(), Query{})
	if got := seqs(p); len(got) != 4 || got[0] != 7 || got[3] != 10 || p.Missed != 6 || p.Next != 10 {
		t.Errorf("got %v, %d missed, next %d", got, p.Missed, p.Next)
	}
	if s := j.stats(); s.Last != 10 || s.First != 7 || s.Dropped != 6 || s.Size != 4 {
		t.Errorf("stats: %+v", s)
	}
}

// A flood of deliveries does not evict writes.
func TestJournalKeepsWritesLonger(t *testing.T) {
	j := newJournal(4)
	j.append(&Record{Time: time.Now(), Event: &Called{Controller: "c", Verb: "create", Status: 201}})
	for range 100 {
		j.append(&Record{Time: time.Now(), Event: &Delivered{Controller: "c"}})
	}
	j.append(&Record{Time: time.Now(), Event: &Called{Controller: "c", Verb: "get", Status: 404}})
	p, _ := j.Records(t.Context(), Query{Kinds: []Kind{KindCalled}})
	if got := seqs(p); len(got) != 2 || got[0] != 1 || got[1] != 102 || p.Missed != 97 {
		t.Errorf("got %v, %d missed", got, p.Missed)
	}
	p, _ = j.Records(t.Context(), Query{Notable: true})
	if got := seqs(p); len(got) != 2 || p.Missed != 0 {
		t.Errorf("notable: got %v, %d missed", got, p.Missed)
	}
	p, _ = j.Records(t.Context(), Query{After: 1})
	if got := seqs(p); len(got) != 4 || p.Missed != 97 {
		t.Errorf("after the first: got %v, %d missed", got, p.Missed)
	}
}

// Records dropped from the ring of notable records are counted as well.
func TestJournalCountsDroppedNotableRecords(t *testing.T) {
	j := newJournal(4)
	for range 10 {
		j.append(&Record{Time: time.Now(), Event: &Called{Controller: "c", Verb: "create", Status: 201}})
	}
	for range 10 {
		j.append(&Record{Time: time.Now(), Event: &Delivered{Controller: "c"}})
	}
	for after, want := range map[uint64]uint64{0: 6, 5: 1, 6: 0, 9: 0} {
		if p, _ := j.Records(t.Context(), Query{Notable: true, After: after}); p.Missed != want || p.Next != 20 {
			t.Errorf("after %d: %d missed, want %d; next %d", after, p.Missed, want, p.Next)
		}
	}
}

func TestQuery(t *testing.T) {
	j := newJournal(100)
	web := Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"}
	other := web
	other.Name = "other"
	for _, e := range []Event{
		&Delivered{Controller: "a", Object: web},                                    // 1
		&Called{Controller: "a", Verb: "get", Object: web, Status: 200, Sync: 7},    // 2
		&Called{Controller: "a", Verb: "update", Object: web, Status: 409, Sync: 7}, // 3
		&Called{Controller: "b", Verb: "update", Object: other, Status: 200},        // 4
		&Synced{Controller: "a", ID: 7, Key: "default/web"},                         // 5
		&Logged{Controller: "a", Sync: 7, Attrs: []Attr{{"key", "default/web"}}},    // 6
		&Called{Controller: "b", Verb: "list", Object: other, Status: 500},          // 7
	} {
		j.append(&Record{Time: time.Now(), Event: e})
	}
	for name, c := range map[string]struct {
		q    Query
		want []uint64
	}{
		"all but reads": {Query{}, []uint64{1, 3, 4, 5, 6, 7}},
		"reads too":     {Query{Reads: true}, []uint64{1, 2, 3, 4, 5, 6, 7}},
		"controller":    {Query{Controller: "b"}, []uint64{4, 7}},
		"kinds":         {Query{Kinds: []Kind{KindSynced, KindDelivered}}, []uint64{1, 5}},
		"object":        {Query{Object: &web}, []uint64{1, 3, 5, 6}},
		"notable":       {Query{Notable: true}, []uint64{3, 4, 7}},
		"sync":          {Query{Sync: 7, Reads: true}, []uint64{2, 3, 5, 6}},
		"after":         {Query{After: 5}, []uint64{6, 7}},
		"limit":         {Query{Limit: 2}, []uint64{6, 7}},
		"nothing new":   {Query{After: 7}, nil},
	} {
		p, err := j.Records(t.Context(), c.q)
		if err != nil {
			t.Fatal(err)
		}
		if got := seqs(p); !slices.Equal(got, c.want) || p.Next != 7 {
			t.Errorf("%s: got %v, next %d, want %v", name, got, p.Next, c.want)
		}
	}
}

// While many goroutines write, each reader gets every record once and in order, or
// learns that it missed it.
func TestConcurrentReadersAndWriters(t *testing.T) {
	const writers, each = 8, 5000
	j := newJournal(512)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				j.append(&Record{Time: time.Now(), Event: logEvent("x")})
			}
		})
	}
	for range 3 {
		wg.Go(func() {
			var after, got, missed uint64
			for after < writers*each {
				if err := j.Wait(t.Context(), after); err != nil {
					t.Error(err)
					return
				}
				p, _ := j.Records(t.Context(), Query{After: after})
				last := after
				for _, r := range p.Records {
					if r.Seq <= last {
						t.Errorf("record %d after %d", r.Seq, last)
					}
					last = r.Seq
				}
				got, missed, after = got+uint64(len(p.Records)), missed+p.Missed, p.Next
			}
			if got+missed != writers*each {
				t.Errorf("got %d and missed %d of %d", got, missed, writers*each)
			}
		})
	}
	wg.Wait()
}

func seqs(p Page) (list []uint64) {
	for _, r := range p.Records {
		list = append(list, r.Seq)
	}
	return list
}

// backgroundEvents are what a control plane does although nothing happens.
func backgroundEvents() []Event {
	lease := Object{Group: "coordination.k8s.io", Resource: "leases", Namespace: "kube-node-lease", Name: "n1"}
	return []Event{
		&QueueChanged{Queue: "q"},
		&Called{Controller: "c", Verb: "update", Object: lease, Status: 200},
		&Called{Controller: "c", Verb: "get", Object: Object{Resource: "pods", Name: "p"}, Status: 200},
		&Called{Controller: "c", Verb: "create", Object: Object{Resource: "events"}, Status: 201, Event: &KubernetesEvent{Type: "Normal"}},
		&Delivered{Controller: "c", Change: Updated, Object: lease},
		&Delivered{Controller: "c", Change: Resynced, Object: Object{Resource: "pods", Name: "p"}},
		&Synced{Controller: "c", ID: 1, Timed: true},
		&Logged{Controller: "c", Level: -4},
		&Delivered{Controller: "c", Change: Updated, Object: Object{Resource: "nodes", Name: "n1"}, Unchanged: true, Queues: []string{"q"}},
	}
}

// What a control plane does all the time does not evict what causes are read from.
func TestBackgroundDoesNotEvictCauses(t *testing.T) {
	j := newJournal(16)
	pod := Object{Resource: "pods", Namespace: "default", Name: "p"}
	story := []Event{
		&Called{Controller: "kubectl (admin)", Verb: "create", Object: pod, Status: 201, Client: &Caller{}},
		&Delivered{Controller: "kube-scheduler", Change: Added, Object: pod},
		&Called{Controller: "kube-scheduler", Verb: "create", Subresource: "binding", Object: pod, Status: 201, Sync: 7},
		&Synced{Controller: "kube-scheduler", ID: 7, Cause: 2, Writes: 1},
		&Delivered{Controller: "c", Change: Deleted, Object: Object{Group: "coordination.k8s.io", Resource: "leases", Name: "n0"}},
	}
	for _, e := range story {
		j.append(&Record{Time: time.Now(), Event: e})
	}
	for range 100 {
		for _, e := range backgroundEvents() {
			j.append(&Record{Time: time.Now(), Event: e})
		}
	}
	p, _ := j.Records(t.Context(), Query{Causes: true})
	if got := seqs(p); len(got) < 5 || !slices.Equal(got[:5], []uint64{1, 2, 3, 4, 5}) || p.Missed != 0 {
		t.Errorf("got %v, %d missed", got, p.Missed)
	}
	if p, _ := j.Records(t.Context(), Query{}); p.Missed != 900-16 || p.Next != 905 {
		t.Errorf("of all records, %d are missed, next %d", p.Missed, p.Next)
	}
	if s := j.stats(); s.First != 1 || s.Dropped != 900-16 {
		t.Errorf("stats: %+v", s)
	}
	for seq := range uint64(6) {
		if r := j.find(seq); (r == nil) != (seq == 0) || r != nil && r.Seq != seq {
			t.Errorf("find %d: %+v", seq, r)
		}
	}
	if r := j.find(100); r != nil {
		t.Errorf("a dropped record is found: %+v", r)
	}
	for range 20 { // evicts the story
		j.append(&Record{Time: time.Now(), Event: &Synced{Controller: "c", ID: 9, Cause: 3}})
	}
	p, _ = j.Records(t.Context(), Query{Causes: true})
	if got := seqs(p); !slices.Equal(got[:2], []uint64{1, 3}) || p.Missed != 7 { // the notable ones of them are kept, and 16 of the 20 others
		t.Errorf("got %v, %d missed", got, p.Missed)
	}
}

// A sync that follows from a renewal and changes nothing is background; one that writes is not.
func TestSyncsOfBackground(t *testing.T) {
	j := newJournal(16)
	lease := Object{Group: "coordination.k8s.io", Resource: "leases", Name: "l"}
	renewal := j.append(&Record{Time: time.Now(), Event: &Delivered{Change: Updated, Object: lease, Queues: []string{"graph_changes"}}})
	change := j.append(&Record{Time: time.Now(), Event: &Delivered{Change: Updated, Object: Object{Resource: "pods", Name: "p"}, Queues: []string{"graph_changes"}}})
	for _, tc := range []struct {
		s    Synced
		want bool
	}{
		{Synced{Cause: renewal}, true}, {Synced{Cause: renewal, Writes: 1}, false}, {Synced{Cause: renewal, Error: "x"}, false},
		{Synced{Cause: change}, false}, {Synced{}, true}, {Synced{CauseSync: 1}, false},
	} {
		if got := j.isBackground(&tc.s); got != tc.want {
			t.Errorf("%+v: background %v", tc.s, got)
		}
	}
}

// namesakes are custom resources that have the plural of Leases or Events.
func namesakes() []Object {
	return []Object{{Group: "rental.example.com", Resource: "leases", Name: "flat"}, {Group: "club.example.com", Resource: "events", Name: "party"}}
}

// A custom resource with the plural of Leases or Events is like any other.
func TestNamesakesOfLeasesAndEvents(t *testing.T) {
	for _, o := range namesakes() {
		call := &Called{Verb: "update", Object: o, Status: 200}
		if call.IsRoutine() || !isNotable(call) || isBackground(&Delivered{Change: Updated, Object: o}) {
			t.Errorf("%s is routine", o.GroupResource())
		}
	}
	for _, o := range []Object{{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}, {Group: "coordination.k8s.io", Resource: "leases"}} {
		if !o.IsRoutine() {
			t.Errorf("%s is not routine", o.GroupResource())
		}
	}
}

// The informer of a kind that is not served any more retries forever, which is not a failure.
func TestInformerOfUnservedKind(t *testing.T) {
	for _, verb := range []string{"list", "watch"} {
		gone := Called{Controller: "shared-informers", Verb: verb, Object: Object{Group: "ex.io", Resource: "widgets"}, Status: 404}
		if gone.IsFailure() || isNotable(&gone) || !isBackground(&gone) {
			t.Errorf("%s: the kind that is gone is a failure", verb)
		}
		other, refused, injected := gone, gone, gone
		other.Controller, refused.Status, injected.Error = "shop-operator", 403, InjectedFault
		for _, c := range []*Called{&other, &refused, &injected} {
			if !c.IsFailure() || !isNotable(c) {
				t.Errorf("%+v is not a failure", c)
			}
		}
	}
}

// Background is never notable: no other ring would keep it.
func TestBackground(t *testing.T) {
	for _, e := range backgroundEvents() {
		if !isBackground(e) || isNotable(e) {
			t.Errorf("%T %+v: background %v, notable %v", e, e, isBackground(e), isNotable(e))
		}
	}
	lease := Object{Group: "coordination.k8s.io", Resource: "leases", Name: "l"}
	for _, e := range []Event{
		&BootStep{}, &ControllerChanged{},
		&Called{Verb: "create", Object: lease, Status: 201}, &Called{Verb: "update", Object: lease, Status: 409},
		&Called{Verb: "create", Object: Object{Resource: "events"}, Status: 201, Event: &KubernetesEvent{Type: "Warning"}},
		&Called{Verb: "update", Object: lease, Status: 200, TakenBy: "b"}, &Delivered{Change: Updated, Object: lease, TakenBy: "b"},
		&Delivered{Change: Added, Object: lease}, &Delivered{Change: Resynced, Queues: []string{"q"}},
		&Synced{Cause: 1}, &Synced{Writes: 1}, &Synced{Error: "x"}, &Logged{Sync: 1, Level: -2}, &Logged{},
	} {
		if isBackground(e) {
			t.Errorf("%T %+v is background", e, e)
		}
	}
}

// A page says after which record it is complete.
func TestPageSaysSinceWhenItIsComplete(t *testing.T) {
	j := newJournal(4)
	for range 3 {
		j.append(&Record{Time: time.Now(), Event: &Called{Controller: "c", Verb: "create", Status: 201}})
	}
	if p, _ := j.Records(t.Context(), Query{Causes: true}); p.Missed != 0 || p.CompleteAfter != 0 {
		t.Errorf("%d missed, complete after %d", p.Missed, p.CompleteAfter)
	}
	for range 10 {
		j.append(&Record{Time: time.Now(), Event: &Delivered{Controller: "c", Object: Object{Resource: "pods", Name: "a"}}})
	}
	for name, tc := range map[string]struct {
		q    Query
		want uint64
	}{
		"causes":     {Query{Causes: true}, 9},
		"all":        {Query{}, 9},
		"the newest": {Query{Limit: 1}, 12},
	} {
		if p, _ := j.Records(t.Context(), tc.q); p.Missed == 0 || p.CompleteAfter != tc.want {
			t.Errorf("%s: %d missed, complete after %d, want %d", name, p.Missed, p.CompleteAfter, tc.want)
		}
	}
}

// TestLimitDropsNothing: what a limit leaves out is not counted as dropped.
func TestLimitDropsNothing(t *testing.T) {
	j := newJournal(4)
	add := func(n int) {
		for range n {
			j.append(&Record{Time: time.Now(), Event: &Delivered{Controller: "c", Object: Object{Resource: "pods", Name: "a"}}})
		}
	}
	require := func(q Query, records int, missed, leftOut, completeAfter uint64) {
		t.Helper()
		p, _ := j.Records(t.Context(), q)
		if len(p.Records) != records || p.Missed != missed || p.LeftOut != leftOut || p.CompleteAfter != completeAfter {
			t.Errorf("%+v: %d records, missed %d, left out %d, complete after %d", q, len(p.Records), p.Missed, p.LeftOut, p.CompleteAfter)
		}
	}
	add(4)
	require(Query{}, 4, 0, 0, 0)
	require(Query{Limit: 3}, 3, 0, 1, 1)
	require(Query{Limit: 1, Kinds: []Kind{KindCalled}}, 0, 0, 0, 0)
	add(6)
	all, _ := j.Records(t.Context(), Query{})
	if all.Missed == 0 {
		t.Fatal("none was dropped")
	}
	require(Query{Limit: 3}, 3, all.Missed, uint64(len(all.Records)-3), 7)
	require(Query{Limit: 100}, len(all.Records), all.Missed, 0, all.CompleteAfter)
}
