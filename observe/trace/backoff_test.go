package trace

import (
	"slices"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// A client that creates first may be content to find that the object exists. One that backs off is not.
func TestCreationsOfWhatExists(t *testing.T) {
	const operator = "shop-operator (bob)"
	exists := observe.Called{Controller: operator, Verb: "create", Status: 409, Error: `pods "a" already exists`, Object: pod("a")}
	other := observe.Called{Controller: operator, Verb: "update", Status: 200, Object: pod("b"), Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: "b", ResourceVersion: "9"}}}
	own := observe.Called{Controller: operator, Verb: "update", Status: 200, Object: pod("a")}
	lease := observe.Called{Controller: operator, Verb: "update", Status: 200, Object: observe.Object{Group: "coordination.k8s.io", Resource: "leases", Namespace: "default", Name: "l"}}
	created := observe.Called{Controller: "kubectl (bob)", Verb: "create", Status: 201, Object: pod("a"), Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: "a", ResourceVersion: "8"}}}
	owned, byItself := created, created
	owned.Owner, byItself.Controller = &observe.Object{Kind: "Deployment", Name: "other"}, operator
	steady, doubled := slices.Repeat([]float64{1}, 12), []float64{0.02, 0.03, 0.05, 0.09, 0.18, 0.35, 0.7, 1.4, 2.8, 5.6}
	const fails = `fails to create Pod default/a, 11 times in a row: 409: pods "a" already exists`
	for name, tc := range map[string]struct {
		pauses  []float64        // in seconds
		first   *observe.Called  // before the attempts
		between []observe.Called // after each of them
		want    []string
	}{
		"backs off":                {doubled, nil, nil, []string{fails}},
		"tries steadily":           {steady, nil, nil, nil},
		"at most five times":       {doubled[:4], nil, nil, nil},
		"has waited longer before": {append(slices.Clone(doubled[:8]), 1, 1), nil, nil, []string{fails}},
		"goes on":                  {doubled, nil, []observe.Called{other}, nil},
		"updates it":               {doubled, nil, []observe.Called{own}, nil},
		"renews its lease":         {doubled, nil, []observe.Called{lease}, []string{fails}},
		"it is known who made it":  {doubled, &created, nil, []string{fails + "; kubectl (bob) created it"}},
		"it is known for whom":     {doubled, &owned, nil, []string{fails + "; its owner is Deployment other"}},
		"it has made it itself":    {doubled, &byItself, nil, nil},
	} {
		var records []observe.Record
		at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
		add := func(c observe.Called) {
			c.Began, c.Took, c.Client = at, time.Microsecond, &observe.Caller{User: "bob"}
			records = append(records, observe.Record{Seq: uint64(len(records) + 1), Time: at.Add(c.Took), Event: &c})
		}
		if tc.first != nil {
			add(*tc.first)
		}
		at = at.Add(time.Second)
		for _, pause := range append([]float64{0}, tc.pauses...) {
			at = at.Add(time.Duration(pause * float64(time.Second)))
			add(exists)
			for _, c := range tc.between {
				add(c)
			}
		}
		now := observe.Snapshot{Time: at, Clients: []observe.Client{{Name: operator, Watches: []observe.ClientWatch{{Resource: "pods"}}}}}
		var got []string
		for _, f := range failingWritesIn(records, now) {
			got = append(got, f.String())
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// Syncs that requeue their own key are a loop, unless the delay grows from one to the next: then the controller backs off,
// whether it takes what it has found for an error or not.
func TestGrowingDelaysAreNoLoop(t *testing.T) {
	growing := func(first, most time.Duration, n int) (delays []time.Duration) {
		for d := first; len(delays) < n; d = min(2*d, most) {
			delays = append(delays, d)
		}
		return delays
	}
	const ms = time.Millisecond
	for name, tc := range map[string]struct {
		delays []time.Duration
		least  int // rounds
		most   int
	}{
		"backoff":                        {growing(5*ms, 1000*time.Second, 12), 0, 9},
		"constant":                       {growing(100*ms, 100*ms, 12), 13, 13},
		"shrinking":                      {[]time.Duration{800 * ms, 400 * ms, 200 * ms, 100 * ms, 50 * ms, 25 * ms, 20 * ms, 20 * ms, 10 * ms, 10 * ms}, 11, 11},
		"backoff up to a short delay":    {append(growing(5*ms, 80*ms, 5), growing(80*ms, 80*ms, 20)...), 20, 26},
		"constant, then a backoff":       {append(growing(20*ms, 20*ms, 30), growing(40*ms, time.Hour, 8)...), 30, 36},
		"uneven":                         {slices.Repeat([]time.Duration{10 * ms, 25 * ms}, 10), 21, 21},
		"again and again from the start": {slices.Repeat(growing(5*ms, time.Second, 7), 3), 0, 9},
	} {
		var records []observe.Record
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		for i := range len(tc.delays) + 1 {
			s := &observe.Synced{
				Controller: controllernames.GarbageCollector, Queue: controllernames.GarbageCollectorQueue, ID: uint64(i + 1), Key: "default/keep", KeyBasis: observe.BasisLog,
				Add: uint64(i + 1), Timed: i > 0, Sure: true, Took: ms / 10,
			}
			if i < len(tc.delays) {
				s.Retried, s.Due = true, at.Add(tc.delays[i])
			}
			records = append(records, observe.Record{Seq: uint64(i + 1), Time: at, Event: s})
			if i < len(tc.delays) {
				at = at.Add(tc.delays[i] + ms/5)
			}
		}
		rounds := 0
		for _, l := range Loops(records, time.Time{}) {
			rounds = max(rounds, l.Rounds)
		}
		if rounds < tc.least || rounds > tc.most {
			t.Errorf("%s: %d rounds, want %d to %d", name, rounds, tc.least, tc.most)
		}
	}
}
