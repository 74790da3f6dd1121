package trace

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/observe"
)

// shareRecords makes one record of the same event's deliveries to handlers that did nothing, as
// package observe does. The journals are older.
func shareRecords(records []observe.Record) (shared []observe.Record) {
	type event struct {
		change  observe.Change
		object  observe.Object
		version string
	}
	ofClient := map[uint64]bool{}
	delays := map[string]bool{} // controllers whose handlers may have added a key with a delay that could not be read
	for _, r := range records {
		switch e := r.Event.(type) {
		case *observe.Called:
			ofClient[e.Cause] = true
		case *observe.Synced:
			delays[e.Controller] = delays[e.Controller] || e.Timed
		}
	}
	first := map[event]int{} // → index in shared
	for _, r := range records {
		d, ok := r.Event.(*observe.Delivered)
		if !ok || d.ResourceVersion == "" || len(d.Queues)+len(d.Later) > 0 || ofClient[r.Seq] || delays[d.Controller] ||
			strings.Contains(d.Controller, "/") { // reported by another process
			shared = append(shared, r)
			continue
		}
		e := event{d.Change, d.Object, d.ResourceVersion}
		if at, ok := first[e]; ok && r.Time.Sub(shared[at].Time) < time.Second {
			with := *shared[at].Event.(*observe.Delivered)
			with.AlsoTo = append(slices.Clone(with.AlsoTo), d.Controller)
			shared[at].Event = &with
			continue
		}
		first[e] = len(shared)
		shared = append(shared, r)
	}
	return shared
}

func TestSharedRecordsHaveTheSameCauses(t *testing.T) {
	saved := 0
	for _, name := range scenarios {
		records := loadJournal(t, name)
		shared := shareRecords(records)
		saved += len(records) - len(shared)
		if diff := cmp.Diff(causesOfWrites(newGraph(records, observe.Object{}, Options{})), causesOfWrites(newGraph(shared, observe.Object{}, Options{}))); diff != "" {
			t.Errorf("%s: -each delivery has a record +they share one:\n%s", name, diff)
		}
	}
	if saved == 0 {
		t.Error("no journal has deliveries that share a record")
	}
}

// withoutIdleSyncs leaves out what package observe does not record of queues to which each event adds a key.
func withoutIdleSyncs(records []observe.Record) (left []observe.Record) {
	isQuiet := func(queue string) bool {
		return queue == "garbage_collector_graph_changes" || queue == "noexec_taint_pod"
	}
	hadEffect := map[uint64]bool{} // syncs
	for _, r := range records {
		switch e := r.Event.(type) {
		case *observe.Called:
			hadEffect[e.Sync] = true
		case *observe.Logged:
			hadEffect[e.Sync] = true
		case *observe.Synced:
			hadEffect[e.CauseSync] = true
		}
	}
	for _, r := range records {
		switch e := r.Event.(type) {
		case *observe.Synced:
			if isQuiet(e.Queue) && !hadEffect[e.ID] && !e.Retried && !e.Failed() {
				continue
			}
		case *observe.Delivered:
			if e.Change == observe.Deleted || e.Deleting {
				break
			}
			without := *e
			without.Queues, without.Adds = nil, nil
			for i, q := range e.Queues {
				if !isQuiet(q) {
					without.Queues, without.Adds = append(without.Queues, q), append(without.Adds, e.Adds[i])
				}
			}
			r.Event = &without
		}
		left = append(left, r)
	}
	return left
}

func TestWithoutIdleSyncsTheCausesAreTheSame(t *testing.T) {
	saved := 0
	for _, name := range scenarios {
		records := loadJournal(t, name)
		if !slices.ContainsFunc(records, func(r observe.Record) bool { s, ok := r.Event.(*observe.Synced); return ok && s.Add > 0 }) {
			continue // it is older than the adds of syncs: which had an effect is not known
		}
		without := shareRecords(withoutIdleSyncs(records))
		saved += len(shareRecords(records)) - len(without)
		if diff := cmp.Diff(causesOfWrites(newGraph(records, observe.Object{}, Options{})), causesOfWrites(newGraph(without, observe.Object{}, Options{}))); diff != "" {
			t.Errorf("%s: -each sync is recorded +idle ones of event queues are not:\n%s", name, diff)
		}
	}
	if saved == 0 {
		t.Error("no journal has such syncs")
	}
}

// Each controller that has received an event is in the trace of everything.
func TestTraceOfSharedRecords(t *testing.T) {
	records := []observe.Record{{Seq: 7, Time: time.Now(), Event: &observe.Delivered{
		Controller: "a", AlsoTo: []string{"b", "c"}, Change: observe.Added, Object: deployment("web"), ResourceVersion: "9", Took: time.Millisecond,
	}}}
	var got []string
	for _, n := range newGraph(records, deployment("web"), Options{All: true}).events {
		got = append(got, n.ID+" "+n.Controller+" "+n.Took.String())
	}
	if want := []string{"r7 a 1ms", "r7.1 b 0s", "r7.2 c 0s"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A goroutine that a handler has started may add a key when the handler has returned.
func TestKeyAddedAfterASharedDelivery(t *testing.T) {
	at := time.Now()
	records := []observe.Record{
		{Seq: 7, Time: at, Event: &observe.Delivered{Controller: "a", AlsoTo: []string{"b"}, Change: observe.Added, Object: deployment("web"), ResourceVersion: "9"}},
		{Seq: 8, Time: at.Add(time.Second), Event: &observe.Synced{Controller: "b", Queue: "q", ID: 1, Key: "default/web", KeyBasis: observe.BasisLog, Add: 1, Cause: 7, Sure: true}},
	}
	g := newGraph(records, deployment("web"), Options{All: true})
	if c := g.syncByID[1].Cause; c == nil || c.ID != "r7.1" {
		t.Errorf("the sync follows from %+v", c)
	}
}
