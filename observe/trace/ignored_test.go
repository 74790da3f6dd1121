package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A predicate drops the event of what a user has changed: that nothing follows is said to be so.
func TestIgnoredEvents(t *testing.T) {
	const operator = "shop-operator/site"
	const says = operator + " saw it updated and queued nothing: its predicates or its handler ignored it"
	web, at := deployment("web"), time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	user := &observe.Caller{User: "admin"}
	write := func(verb, version string) *observe.Called {
		return &observe.Called{Controller: "kubectl (admin)", Client: user, Verb: verb, Object: web, Status: 200, ResourceVersion: version, Wrote: deploymentWritten(version, false)}
	}
	seen := func(by string, change observe.Change, version string, adds ...uint64) *observe.Delivered {
		d := &observe.Delivered{Controller: by, Change: change, Object: web, ResourceVersion: version, Adds: adds}
		for range adds {
			d.Queues = append(d.Queues, "site")
		}
		return d
	}
	synced := func(add uint64, cause uint64, waited time.Duration) *observe.Synced {
		return &observe.Synced{Controller: operator, Queue: "site", ID: 100 + add, Key: "default/web", KeyBasis: observe.BasisQueue, Add: add, Sure: cause != 0, Cause: cause, Waited: waited}
	}
	delays := seen(operator, observe.Updated, "8")
	delays.Delays = true
	busy := observe.Snapshot{Queues: []observe.Queue{{Controller: operator, Name: "site", Depth: 1}}}
	dropped := observe.Snapshot{Clients: []observe.Client{{Name: "shop-operator (admin)", Controllers: []string{operator}, ReportsDropped: 1}}}
	for name, tc := range map[string]struct {
		after           []observe.Event // a second apart, after the creation, its event, the sync of that, and the patch
		o               Options
		trace, all, why bool // says so
	}{
		"ignored":                         {[]observe.Event{seen(operator, observe.Updated, "8")}, Options{}, true, true, true},
		"delayed behind another add":      {[]observe.Event{delays}, Options{}, false, false, false},
		"queued":                          {[]observe.Event{seen(operator, observe.Updated, "8", 2)}, Options{}, false, false, false},
		"its sync has ended":              {[]observe.Event{seen(operator, observe.Updated, "8", 2), synced(2, 5, 0)}, Options{}, false, false, false},
		"a key was queued already":        {[]observe.Event{seen(operator, observe.Updated, "8"), synced(2, 2, 4*time.Second)}, Options{}, false, false, false},
		"another handler has queued it":   {[]observe.Event{seen(operator, observe.Updated, "8"), seen(operator, observe.Updated, "8", 2)}, Options{}, false, false, false},
		"two handlers":                    {[]observe.Event{seen(operator, observe.Updated, "8"), seen(operator, observe.Updated, "8")}, Options{}, true, true, true},
		"synced since":                    {[]observe.Event{seen(operator, observe.Updated, "8"), synced(2, 2, 0)}, Options{}, false, false, false},
		"a key waits":                     {[]observe.Event{seen(operator, observe.Updated, "8")}, Options{State: busy}, false, false, false},
		"reports were dropped":            {[]observe.Event{seen(operator, observe.Updated, "8")}, Options{State: dropped}, false, false, false},
		"records were dropped":            {[]observe.Event{seen(operator, observe.Updated, "8")}, Options{Missed: 3}, false, false, false},
		"records were dropped before":     {[]observe.Event{seen(operator, observe.Updated, "8")}, Options{Missed: 3, CompleteAfter: 1}, true, true, true},
		"another controller has acted":    {[]observe.Event{seen(operator, observe.Updated, "8"), seen("page-operator (admin)", observe.Updated, "8"), reaction(web, 6)}, Options{}, false, true, false},
		"another controller has seen it":  {[]observe.Event{seen(operator, observe.Updated, "8"), seen("garbage-collector-controller", observe.Updated, "8")}, Options{}, true, true, true},
		"another operator has synced it":  {[]observe.Event{seen(operator, observe.Updated, "8"), seen("page-operator/page", observe.Updated, "8", 1), pageSync(6)}, Options{}, false, true, false},
		"a controller without the module": {[]observe.Event{seen("shop-operator (admin)", observe.Updated, "8")}, Options{}, false, false, false},
		"a built-in controller":           {[]observe.Event{seen("deployment-controller", observe.Updated, "8")}, Options{}, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var records []observe.Record
			for i, e := range append([]observe.Event{write("create", "7"), seen(operator, observe.Added, "7", 1), synced(1, 2, 0), write("patch", "8")}, tc.after...) {
				when := at.Add(time.Duration(i) * time.Second)
				if c, ok := e.(*observe.Called); ok {
					c.Began = when
					if c.Verb == "create" {
						c.Status = 201
					}
				}
				records = append(records, observe.Record{Seq: uint64(i + 1), Time: when, Event: e})
			}
			check := func(what, text string, want bool) {
				t.Helper()
				if got := strings.Count(strings.Join(strings.Fields(text), " "), says); got != map[bool]int{true: 1}[want] {
					t.Errorf("%s says so %d times, want %v:\n%s", what, got, want, text)
				}
			}
			for _, all := range []bool{false, true} {
				tc.o.All = all
				tree, err := Build(records, web, tc.o)
				if err != nil {
					t.Fatal(err)
				}
				check("trace", writeString(t, tree, Text, Style{}), all && tc.all || !all && tc.trace)
			}
			for _, what := range []What{"", Changed} {
				tc.o.All, tc.o.What = false, what
				chain, err := Why(records, web, tc.o)
				if err != nil {
					t.Fatal(err)
				}
				check("why "+string(what), writeString(t, chain, Text, Style{}), tc.why)
			}
		})
	}
}

// reaction is a write of a client because of an event.
func reaction(of observe.Object, cause uint64) observe.Event {
	of.Name += "-page"
	return &observe.Called{
		Controller: "page-operator (admin)", Client: &observe.Caller{User: "admin"}, Verb: "create", Object: of, Status: 201, ResourceVersion: "9", Cause: cause,
		Wrote: []observe.Written{{Resource: "deployments.apps", Namespace: of.Namespace, Name: of.Name, ResourceVersion: "9"}},
	}
}

// pageSync is a sync without an effect.
func pageSync(cause uint64) observe.Event {
	return &observe.Synced{Controller: "page-operator/page", Queue: "page", ID: 200, Key: "default/web", KeyBasis: observe.BasisQueue, Add: 1, Sure: true, Cause: cause}
}
