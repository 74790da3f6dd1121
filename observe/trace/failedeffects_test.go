package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// An operator without the module that cannot make what belongs to an object is said with the object.
func TestWhySaysWhichEffectsFail(t *testing.T) {
	refused := observe.Called{Verb: "create", Status: 403, Error: "configmaps is forbidden"}
	exists := observe.Called{Verb: "create", Status: 409, Error: `pods "a" already exists`}
	for name, tc := range map[string]struct {
		calls []observe.Called // of the operator
		want  []string
	}{
		"refused":         {[]observe.Called{refused}, []string{"shop-operator fails to create Pod a, once: 403: configmaps is forbidden."}},
		"again and again": {[]observe.Called{refused, refused, refused}, []string{"shop-operator fails to create Pod a, 3 times in a row: 403: configmaps is forbidden."}},
		"then created":    {[]observe.Called{refused, {Verb: "create", Status: 201}}, nil},
		"conflicts":       {slices.Repeat([]observe.Called{{Verb: "update", Status: 409, Conflict: true}}, 5), nil},
		"conflicts without end": {slices.Repeat([]observe.Called{{Verb: "update", Status: 409, Conflict: true}}, 6),
			[]string{"shop-operator fails to update Pod a, 6 times in a row: conflict: the object has been modified."}},
		"injected conflicts":           {slices.Repeat([]observe.Called{{Verb: "update", Status: 409, Conflict: true, Error: observe.InjectedFault}}, 5), nil},
		"created if it does not exist": {[]observe.Called{{Verb: "patch", Status: 404, Error: `pods "a" not found`}, {Verb: "create", Status: 201}}, nil},
		"created, or updated":          {[]observe.Called{exists, {Verb: "update"}, exists, {Verb: "update"}}, nil},
		"exists, and is another one's": {[]observe.Called{exists, exists}, []string{`shop-operator fails to create Pod a, 2 times in a row: 409: pods "a" already exists.`}},
		"exists, and is its own":       {[]observe.Called{{Verb: "create", Status: 201}, exists, exists}, nil},
		"created for another object": {[]observe.Called{{Verb: "create", Status: 201, Cause: 98}, exists},
			[]string{`shop-operator fails to create Pod a, once: 409: pods "a" already exists.`}},
		"its own was replaced": {[]observe.Called{{Verb: "create", Status: 201}, {Verb: "delete"}, exists},
			[]string{`shop-operator fails to create Pod a, once: 409: pods "a" already exists.`}},
		"is being deleted": {[]observe.Called{{Verb: "create", Status: 409, Error: `object is being deleted: pods "a" already exists`}, {Verb: "patch"}},
			[]string{`shop-operator fails to create Pod a, once: 409: object is being deleted: pods "a" already exists.`}},
		"only one verb is refused": {[]observe.Called{{Verb: "update", Status: 403, Error: "forbidden"}, {Verb: "patch"}}, []string{"shop-operator fails to update Pod a, once: 403: forbidden."}},
	} {
		calls := slices.Concat([]observe.Called{{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}}, tc.calls)
		records := clientCalls(calls...)
		for _, r := range records[1:] {
			c := r.Event.(*observe.Called)
			c.Controller, c.Object = "shop-operator", pod("a")
			if c.Cause == 0 {
				c.Cause = 99
			}
			if !c.Failed() {
				c.Wrote = []observe.Written{{Resource: "pods", Namespace: "default", Name: "a", ResourceVersion: "9", Deleted: c.Verb == "delete"}}
			}
		}
		records = append(records, observe.Record{Seq: 99, Time: records[0].Time.Add(1), Event: &observe.Delivered{
			Controller: "shop-operator", Change: observe.Added, Object: deployment("web"), ResourceVersion: "7",
		}})
		client := observe.Client{Name: "shop-operator", Watches: []observe.ClientWatch{{Resource: "deployments.apps"}}}
		chain, err := Why(records, deployment("web"), Options{State: observe.Snapshot{Clients: []observe.Client{client}}})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(chain.Failing, tc.want) {
			t.Errorf("%s: got %s", name, fmt.Sprintf("%q", chain.Failing))
		}
	}
}

// A fault that is still injected into a client is named with the write that fails because of it, however often it has.
func TestWhyNamesAnInjectedFault(t *testing.T) {
	const failed = "shop-operator fails to update Pod a, 2 times in a row: 409: fault injected by ctrlplane; 100% of its calls fail: 409."
	injected := observe.Called{Verb: "update", Status: 409, Conflict: true, Error: "Operation cannot be fulfilled: " + observe.InjectedFault}
	for name, tc := range map[string]struct {
		calls []observe.Called // of the operator
		about observe.Object
		fault float64
		ago   time.Duration // the last call
		want  []string
	}{
		"for the object":    {[]observe.Called{injected, injected}, deployment("web"), 1, 0, []string{failed}},
		"of the object":     {[]observe.Called{injected, injected}, pod("a"), 1, 0, []string{failed}},
		"cleared":           {[]observe.Called{injected, injected}, deployment("web"), 0, 0, nil},
		"and then with one": {[]observe.Called{injected, injected, {Verb: "update"}}, deployment("web"), 1, 0, nil},
		"an hour ago":       {[]observe.Called{injected, injected}, deployment("web"), 1, time.Hour, nil},
		"once, an hour ago": {[]observe.Called{injected}, pod("a"), 1, time.Hour, nil},
	} {
		records := clientCalls(slices.Concat([]observe.Called{{Verb: "create", Status: 201, ResourceVersion: "7"}}, tc.calls)...)
		created := records[0].Event.(*observe.Called)
		created.Object, created.Wrote = tc.about, []observe.Written{{Resource: tc.about.GroupResource(), Namespace: "default", Name: tc.about.Name, ResourceVersion: "7"}}
		for _, r := range records[1:] {
			c := r.Event.(*observe.Called)
			c.Controller, c.Object, c.Cause = "shop-operator", pod("a"), 99
			if !c.Failed() {
				c.Wrote = []observe.Written{{Resource: "pods", Namespace: "default", Name: "a", ResourceVersion: "9"}}
			}
		}
		records = append(records, observe.Record{Seq: 99, Time: records[0].Time.Add(1), Event: &observe.Delivered{
			Controller: "shop-operator", Change: observe.Added, Object: tc.about, ResourceVersion: "7",
		}})
		client := observe.Client{Name: "shop-operator", Watches: []observe.ClientWatch{{Resource: "pods"}}}
		client.Interventions.Fault = observe.Fault{Rate: tc.fault, Code: "409"}
		now := observe.Snapshot{Time: records[len(records)-2].Time.Add(tc.ago), Clients: []observe.Client{client}}
		chain, err := Why(records, tc.about, Options{State: now})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(chain.Failing, tc.want) {
			t.Errorf("%s: got %q, want %q", name, chain.Failing, tc.want)
		}
	}
}

// What fails is said with the creation and the last change of an object, also if one of these is asked for.
func TestWhySaysWithEachChangeWhatFails(t *testing.T) {
	records := clientCalls(
		observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)},
		observe.Called{Verb: "patch", ResourceVersion: "8", Wrote: deploymentWritten("8", false)},
		observe.Called{Verb: "create", Status: 403, Error: "configmaps is forbidden", Cause: 99})
	failed := records[2].Event.(*observe.Called)
	failed.Controller, failed.Object = "shop-operator", pod("a")
	records = append(records, observe.Record{Seq: 99, Time: records[0].Time.Add(1), Event: &observe.Delivered{
		Controller: "shop-operator", Change: observe.Added, Object: deployment("web"), ResourceVersion: "7",
	}})
	want := []string{"shop-operator fails to create Pod a, once: 403: configmaps is forbidden."}
	for _, what := range []What{"", Created, Changed} {
		chain, err := Why(records, deployment("web"), Options{What: what})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(chain.Failing, want) {
			t.Errorf("%q: got %q", what, chain.Failing)
		}
	}
}

// A client that polls has no event as a cause: what it creates for an object has an owner reference.
func TestWhySaysWhatCannotBeCreatedForAnOwner(t *testing.T) {
	refused := observe.Called{Verb: "create", Status: 403, Error: "exceeded quota"}
	exists := observe.Called{Verb: "create", Status: 409, Error: `pods "a" already exists`}
	web := observe.Object{Kind: "Deployment", Name: "web", UID: "u1"}
	earlier, other := web, web
	earlier.UID, other.Name = "u0", "other"
	for name, tc := range map[string]struct {
		client   string
		call     observe.Called
		attempts int
		owner    *observe.Object
		want     []string
	}{
		"owner":         {"db", refused, 2, &web, []string{"db fails to create Pod a, 2 times in a row: 403: exceeded quota."}},
		"another one":   {"db", refused, 2, &other, nil},
		"earlier":       {"db", refused, 2, &earlier, nil},
		"none":          {"db", refused, 2, nil, nil},
		"found its own": {"db", exists, 2, &web, nil},
		"once":          {"db", refused, 1, &web, []string{"db fails to create Pod a, once: 403: exceeded quota."}},
		"a test, once":  {"test", refused, 1, &web, nil},
		"a test, twice": {"test", refused, 2, &web, []string{"test fails to create Pod a, 2 times in a row: 403: exceeded quota."}},
		"kubectl, once": {"kubectl (admin)", refused, 1, &web, nil},
	} {
		records := clientCalls(slices.Concat([]observe.Called{{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}}, slices.Repeat([]observe.Called{tc.call}, tc.attempts))...)
		for _, r := range records[1:] {
			c := r.Event.(*observe.Called)
			c.Controller, c.Object, c.Owner = tc.client, pod("a"), tc.owner
		}
		about := deployment("web")
		about.UID = web.UID
		chain, err := Why(records, about, Options{State: observe.Snapshot{Clients: []observe.Client{
			{Name: "db", Polls: []observe.ClientPoll{{Resource: "deployments.apps"}}}, {Name: "kubectl (admin)", Watches: []observe.ClientWatch{{Resource: "deployments.apps"}}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(chain.Failing, tc.want) {
			t.Errorf("%s: got %q", name, chain.Failing)
		}
	}
}

// The attempts at a write have several likely causes: what the client itself has written for the object, what it has
// read of another one, or none, long after the last event.
func TestEveryAttemptCounts(t *testing.T) {
	refused := observe.Called{Verb: "create", Status: 403, Error: "pods is forbidden"}
	of := func(cause uint64, name string) observe.Called {
		c := refused
		c.Cause, c.Object = cause, pod(name)
		return c
	}
	created := of(99, "a-x7k")
	created.Status, created.Wrote = 201, []observe.Written{{Resource: "pods", Namespace: "default", Name: "a-x7k", ResourceVersion: "9"}}
	for name, tc := range map[string]struct {
		attempts []observe.Called
		want     string
	}{
		"another event first": {[]observe.Called{of(98, "a"), of(99, "a"), of(98, "a"), of(0, "a")}, "shop-operator fails to create Pod a, 4 times in a row: 403: pods is forbidden."},
		"only another event":  {[]observe.Called{of(98, "a"), of(98, "a")}, ""},
		"no name, at last":    {[]observe.Called{of(99, ""), of(99, ""), created}, ""},
		"no name":             {[]observe.Called{of(98, ""), of(99, ""), of(98, "")}, "shop-operator fails to create Pod in default, once: 403: pods is forbidden."},
	} {
		calls := slices.Concat([]observe.Called{{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}}, tc.attempts)
		records := clientCalls(calls...)
		for i, r := range records[1:] {
			c := r.Event.(*observe.Called)
			c.Controller, c.Object = "shop-operator", tc.attempts[i].Object
		}
		for seq, o := range map[uint64]observe.Object{98: deployment("other"), 99: deployment("web")} {
			records = append(records, observe.Record{Seq: seq, Time: records[0].Time.Add(1), Event: &observe.Delivered{
				Controller: "shop-operator", Change: observe.Added, Object: o, ResourceVersion: map[uint64]string{98: "6", 99: "7"}[seq],
			}})
		}
		slices.SortFunc(records, func(a, b observe.Record) int { return int(a.Seq) - int(b.Seq) })
		chain, err := Why(records, deployment("web"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(chain.Failing, "; "); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// What a client could not do does not count as a failure any more if another one has made up for it, and that
// of a client which has ended is in the past.
func TestFailedEffectsOfSeveralClients(t *testing.T) {
	refused := observe.Called{Verb: "create", Status: 403, Error: "configmaps is forbidden"}
	forbidden := observe.Called{Verb: "update", Subresource: "status", Status: 403, Error: "forbidden"}
	exists := observe.Called{Verb: "create", Status: 409, Error: `pods "a" already exists`}
	created, updated := observe.Called{Verb: "create", Status: 201, Controller: "other"}, observe.Called{Verb: "update", Subresource: "status", Controller: "other"}
	dryRun := created
	dryRun.FieldManager = "dry-run" // stores nothing
	removed := observe.Called{Verb: "delete", Controller: "other"}
	held := observe.Called{Verb: "create", Status: 503, Error: observe.NotPerformed + ": context canceled"}
	watching := observe.Client{Name: "shop-operator", Watches: []observe.ClientWatch{{Resource: "deployments.apps"}}}
	paused, delayed := watching, watching
	paused.State, paused.Reason = observe.StatePaused, "its writes are held"
	delayed.State, delayed.Reason, delayed.Interventions.Delay = observe.StateRunning, "each call waits 20s", 20*time.Second
	for name, tc := range map[string]struct {
		calls  []observe.Called
		client observe.Client
		inside bool // other is a controller inside of the process
		want   string
	}{
		"then created by another one":        {[]observe.Called{refused, refused, created}, watching, false, ""},
		"then created by a controller":       {[]observe.Called{refused, created}, watching, true, ""},
		"created by another one before":      {[]observe.Called{created, refused}, watching, false, "shop-operator fails to create Pod a, once: 403: configmaps is forbidden."},
		"dry run of another one":             {[]observe.Called{refused, dryRun}, watching, false, "shop-operator fails to create Pod a, once: 403: configmaps is forbidden."},
		"exists, and is changed":             {[]observe.Called{exists, updated}, watching, false, `shop-operator fails to create Pod a, once: 409: pods "a" already exists.`},
		"only it may not update":             {[]observe.Called{forbidden, updated}, watching, false, "shop-operator fails to update Pod a status, once: 403: forbidden."},
		"the object was removed":             {[]observe.Called{forbidden, removed}, watching, false, ""},
		"created again":                      {[]observe.Called{refused, {Verb: "create", Status: 201, FieldManager: "again"}}, watching, false, ""},
		"ended":                              {[]observe.Called{refused, refused}, observe.Client{Name: "shop-operator"}, false, "shop-operator failed to create Pod a, 2 times in a row: 403: configmaps is forbidden."},
		"given up while held":                {[]observe.Called{held, held}, paused, false, "shop-operator fails to create Pod a, 2 times in a row: 503: the request was canceled before it was performed: context canceled; the client is paused: its writes are held."},
		"given up while delayed":             {[]observe.Called{held}, delayed, false, "shop-operator fails to create Pod a, once: 503: the request was canceled before it was performed: context canceled; the client is delayed: each call waits 20s."},
		"given up, and then refused":         {[]observe.Called{held, refused}, delayed, false, "shop-operator fails to create Pod a, 2 times in a row: 403: configmaps is forbidden."},
		"given up before":                    {[]observe.Called{held}, watching, false, "shop-operator fails to create Pod a, once: 503: the request was canceled before it was performed: context canceled."},
		"ended, and another one has updated": {[]observe.Called{forbidden, updated}, observe.Client{Name: "shop-operator"}, false, ""},
	} {
		calls := slices.Concat([]observe.Called{{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}}, tc.calls)
		records := clientCalls(slices.Clone(calls)...)
		for i, r := range records[1:] {
			c := r.Event.(*observe.Called)
			if c.FieldManager == "again" {
				c.Wrote = deploymentWritten("10", false)
				continue
			}
			c.Controller, c.Object = "shop-operator", pod("a")
			if tc.calls[i].Controller != "" {
				c.Controller = tc.calls[i].Controller
				if tc.inside {
					c.Client = nil
				}
			} else {
				c.Cause = 99
			}
			if !c.Failed() && c.FieldManager == "" {
				c.Wrote = []observe.Written{{Resource: "pods", Namespace: "default", Name: "a", ResourceVersion: "9", Deleted: c.Verb == "delete"}}
			}
		}
		records = append(records, observe.Record{Seq: 99, Time: records[0].Time.Add(1), Event: &observe.Delivered{
			Controller: "shop-operator", Change: observe.Added, Object: deployment("web"), ResourceVersion: "7",
		}})
		chain, err := Why(records, deployment("web"), Options{State: observe.Snapshot{Clients: []observe.Client{tc.client}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(chain.Failing, "; "); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// What an operator fails to write to the object itself again and again is said as what it goes on with: once is a later event.
func TestWhySaysThatAWriteToTheObjectFailsAgainAndAgain(t *testing.T) {
	refused, works := shopCall("update", "status", 403), shopCall("update", "status", 200, writtenShop("8"))
	refused.Error = "shops is forbidden"
	conflict := shopCall("update", "status", 409)
	conflict.Conflict = true
	client := observe.Client{Name: "operator", Caller: observe.Caller{User: "operator"}, Watches: []observe.ClientWatch{{Resource: "shops.example.com"}}}
	const fails = "operator fails to update Shop s status, 3 times in a row: 403: shops is forbidden."
	for name, tc := range map[string]struct {
		clients []observe.Client
		events  []observe.Event
		ago     time.Duration
		failing []string
		later   bool
	}{
		"again and again": {[]observe.Client{client}, []observe.Event{refused, refused, refused}, 0, []string{fails}, false},
		"once":            {[]observe.Client{client}, []observe.Event{refused}, 0, nil, true},
		"has ended":       {nil, []observe.Event{refused, refused, refused}, 0, nil, true},
		"works since":     {[]observe.Client{client}, []observe.Event{refused, refused, refused, works}, 0, nil, false},
		"conflicts": {[]observe.Client{client}, slices.Repeat([]observe.Event{conflict}, 6), 0,
			[]string{"operator fails to update Shop s status, 6 times in a row: conflict: it had itself modified the object to version 7."}, false},
		"few conflicts":     {[]observe.Client{client}, slices.Repeat([]observe.Event{conflict}, 5), 0, nil, true},
		"earlier conflicts": {[]observe.Client{client}, slices.Repeat([]observe.Event{conflict}, 6), 2 * time.Minute, nil, true},
	} {
		records := recorded(append([]observe.Event{shopCall("create", "", 201, writtenShop("7"))}, tc.events...)...)
		for i := range records {
			records[i].Time = time.Unix(1000+int64(i), 0)
		}
		now := observe.Snapshot{Time: records[len(records)-1].Time.Add(tc.ago), Clients: tc.clients}
		chain, err := Why(records, shop, Options{State: now})
		if err != nil {
			t.Fatal(err)
		}
		later := strings.Contains(writeString(t, chain, Text, Style{}), "failed to update Shop s status")
		if !slices.Equal(chain.Failing, tc.failing) || later != tc.later {
			t.Errorf("%s: failing %q, later: %v", name, chain.Failing, later)
		}
	}
}
