package trace

import (
	"slices"
	"testing"
	"time"

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
