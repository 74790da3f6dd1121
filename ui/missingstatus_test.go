package ui

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// That an object has no status is said if no program could write it, or if one that could was changed manually.
func TestWhySaysThatNoClientWritesTheStatus(t *testing.T) {
	const resource = "sites.example.com"
	watches := []observe.ClientWatch{{Resource: "pods"}, {Resource: resource}}
	now := time.Unix(2000, 0)
	last := func(ago time.Duration, name, user string, watches ...observe.ClientWatch) observe.Client {
		return observe.Client{Name: name, Caller: observe.Caller{User: user}, Watches: watches, LastTime: now.Add(-ago)}
	}
	standby := func(verb string, watches ...observe.ClientWatch) observe.Client {
		c := last(time.Second, "operator (bob)", "bob", watches...)
		c.LastWork = now.Add(-2 * time.Minute)
		c.Last = &observe.Called{Verb: verb, Object: observe.Object{Group: "coordination.k8s.io", Resource: "leases", Name: "operator"}}
		return c
	}
	const silent = "It has no status yet, and operator (bob), which watches sites.example.com, has made no request since it was created 1 m 00 s ago."
	for name, tc := range map[string]struct {
		clients []observe.Client
		want    string
	}{
		"a silent operator":          {[]observe.Client{last(2*time.Minute, "operator (bob)", "bob", watches...)}, silent},
		"an operator that works":     {[]observe.Client{last(time.Second, "operator (bob)", "bob", watches...)}, ""},
		"one that awaits an answer":  {[]observe.Client{last(2*time.Minute, "operator (bob)", "bob", watches...), {Name: "writer (bob)", Caller: observe.Caller{User: "bob"}, InFlight: 1}}, ""},
		"under another name":         {[]observe.Client{last(2*time.Minute, "operator (bob)", "bob", watches...), last(time.Second, "writer (bob)", "bob")}, ""},
		"commands of its user":       {[]observe.Client{last(2*time.Minute, "operator (bob)", "bob", watches...), last(time.Second, "kubectl (bob)", "bob")}, silent},
		"others work":                {[]observe.Client{last(2*time.Minute, "operator (bob)", "bob", watches...), last(time.Second, "other (eve)", "eve", watches[0])}, silent},
		"another one that may do it": {[]observe.Client{last(2*time.Minute, "operator (bob)", "bob", watches...), last(time.Second, "other (eve)", "eve", watches...)}, ""},
		"a standby":                  {[]observe.Client{standby("get", watches...)}, silent[:len(silent)-1] + ", except for Leases: it may wait to become the leader."},
		"one without watches":        {[]observe.Client{standby("get")}, "It has no status yet, and no client watches sites.example.com; operator (bob) asks for a Lease only: it may wait to become the leader."},
		"two without watches":        {[]observe.Client{standby("get"), standby("list")}, "It has no status yet, and no client watches sites.example.com; operator (bob) and operator (bob) ask for Leases only: they may wait to become the leader."},
		"a leader of another kind":   {[]observe.Client{standby("update")}, "It has no status yet, and no client watches sites.example.com."},
		"a leader that does nothing": {[]observe.Client{standby("update", watches...)}, silent[:len(silent)-1] + ", except for Leases."},
		"two silent ones": {[]observe.Client{last(2*time.Minute, "operator (bob)", "bob", watches...), last(2*time.Minute, "other (eve)", "eve", watches...)},
			"It has no status yet, and operator (bob) and other (eve), which watch sites.example.com, have made no request since it was created 1 m 00 s ago."},
		"no operator":                    {[]observe.Client{{Name: "kubectl (admin)", Watches: watches}, {Name: "ctrlplane (admin)", Watches: watches}, {Name: "other (admin)", Watches: watches[:1]}}, "It has no status yet, and no client watches sites.example.com."},
		"it is polled":                   {[]observe.Client{{Name: "db (admin)", Polls: []observe.ClientPoll{{Resource: resource}}}, {Name: "kubectl (admin)", Polls: []observe.ClientPoll{{Resource: resource}}}, {Name: "x (admin)", Polls: []observe.ClientPoll{{Resource: "pods"}}}}, "It has no status yet, and no client watches sites.example.com, though it is polled by db (admin)."},
		"an operator":                    {[]observe.Client{{Name: "operator (admin)", Watches: watches}}, ""},
		"one in another namespace works": {[]observe.Client{last(2*time.Minute, "operator (bob)", "bob", watches...), last(time.Second, "other (eve)", "eve", observe.ClientWatch{Resource: resource, Namespace: "other"})}, silent},
		"one that only polls works":      {[]observe.Client{last(2*time.Minute, "operator (bob)", "bob", watches...), {Name: "db (eve)", Caller: observe.Caller{User: "eve"}, LastTime: now, Polls: []observe.ClientPoll{{Resource: resource, Last: now}}}}, ""},
		"one that only polled before":    {[]observe.Client{last(2*time.Minute, "operator (bob)", "bob", watches...), last(2*time.Minute, "db (eve)", "eve"), {Name: "db (eve)", Polls: []observe.ClientPoll{{Resource: resource, Last: now.Add(-2 * time.Minute)}}}}, silent},
		"commands that poll":             {[]observe.Client{last(2*time.Minute, "operator (bob)", "bob", watches...), {Name: "kubectl (bob)", Polls: []observe.ClientPoll{{Resource: resource, Last: now}}}}, silent},
		"operators of others": {[]observe.Client{{Name: "operator (admin)", Watches: []observe.ClientWatch{{Resource: resource, Namespace: "other"}, {Resource: resource, Namespace: "shop", Name: "b"}}}},
			"It has no status yet, and no client watches it, only others of sites.example.com."},
		"an operator of others is paused": {[]observe.Client{{Name: "operator (admin)", Watches: watches}, {Name: "other (admin)", Reason: "its writes are held", Watches: []observe.ClientWatch{{Resource: resource, Namespace: "other"}}}}, ""},
		"an operator of its namespace":    {[]observe.Client{{Name: "operator (admin)", Watches: []observe.ClientWatch{{Resource: resource, Namespace: "shop"}}}}, ""},
		"an operator of its name":         {[]observe.Client{{Name: "operator (admin)", Watches: []observe.ClientWatch{{Resource: resource, Namespace: "shop", Name: "a"}}}}, ""},
		"an operator is paused":           {[]observe.Client{{Name: "operator (admin)", State: "paused", Reason: "its writes are held", Watches: watches}}, "It has no status yet."},
		"another one is paused":           {[]observe.Client{{Name: "operator (admin)", Watches: watches}, {Name: "other (admin)", Reason: "its writes are held"}}, ""},
	} {
		q := Why{About: observe.Object{Kind: "Site", Resource: "sites", Group: "example.com", Namespace: "shop", Name: "a"}, Options: trace.Options{State: observe.Snapshot{Time: now, Clients: tc.clients}}, State: ObjectState{Exists: true, Unreported: resource, Created: now.Add(-time.Minute)}}
		_, _ = q.Chain(nil, trace.Style{}) // nothing is recorded
		if q.Options.Now != tc.want {
			t.Errorf("%s: %q", name, q.Options.Now)
		}
	}
}

// An operator whose sync of the object fails without a request is not silent.
func TestWhySaysThatASilentOperatorFails(t *testing.T) {
	const resource = "sites.example.com"
	now, failing := time.Unix(2000, 0), []observe.FailingKey{{Queue: "site", Key: "shop/a", KeyBasis: observe.BasisQueue, Times: 3, Error: "no luck"}}
	for controller, want := range map[string]bool{"operator/site": false, "operator/page": true} {
		c := observe.Controller{Name: controller, State: "running", Watches: []string{resource}, Failing: failing}
		if want {
			c.Failing = nil
		}
		state := observe.Snapshot{Time: now, Controllers: []observe.Controller{c}, Clients: []observe.Client{{Name: "operator (bob)", Caller: observe.Caller{User: "bob"},
			Watches: []observe.ClientWatch{{Resource: resource}}, LastTime: now.Add(-2 * time.Minute)}}}
		q := Why{About: observe.Object{Kind: "Site", Resource: "sites", Group: "example.com", Namespace: "shop", Name: "a"}, Options: trace.Options{State: state}, State: ObjectState{Exists: true, Unreported: resource, Created: now.Add(-time.Minute)}}
		_, _ = q.Chain(nil, trace.Style{}) // nothing is recorded
		if said := q.Options.Now != ""; said != want || (len(q.Options.Failing) > 0) == want {
			t.Errorf("%s: %q, failing %q", controller, q.Options.Now, q.Options.Failing)
		}
	}
}

// Why no client reports the state of an object that is not healthy is said, too, however often it is asked for.
func TestWhySaysThatNoClientReportsTheState(t *testing.T) {
	const problem, resource = "It is not ready: it has no status.phase yet.", "rollouts.argoproj.io"
	now := time.Unix(2000, 0)
	operator := observe.Client{Name: "operator (bob)", Watches: []observe.ClientWatch{{Resource: resource}}, LastTime: now.Add(-2 * time.Minute)}
	for name, tc := range map[string]struct {
		clients []observe.Client
		state   ObjectState
		want    string
	}{
		"no operator":       {nil, ObjectState{Problem: problem, Unreported: resource}, "It is not ready: it has no status.phase yet; no client watches rollouts.argoproj.io."},
		"an operator":       {[]observe.Client{operator}, ObjectState{Problem: problem, Unreported: resource}, problem},
		"a silent operator": {[]observe.Client{operator}, ObjectState{Problem: problem, Unreported: resource, Created: now.Add(-time.Minute)}, "It is not ready: it has no status.phase yet; operator (bob), which watches rollouts.argoproj.io, has made no request since it was created 1 m 00 s ago."},
		"reported":          {nil, ObjectState{Problem: problem}, problem},
	} {
		q := Why{About: observe.Object{Kind: "Rollout", Resource: "rollouts", Group: "argoproj.io", Namespace: "shop", Name: "r"}, Options: trace.Options{State: observe.Snapshot{Time: now, Clients: tc.clients}}, State: tc.state}
		for range 2 {
			if _, _ = q.Chain(nil, trace.Style{}); q.Options.Now != tc.want {
				t.Errorf("%s: %q", name, q.Options.Now)
			}
		}
	}
}

// A Deployment that is paused is scaled, and its status is written.
func TestWhySaysThatAnObjectIsPaused(t *testing.T) {
	q := Why{About: observe.Object{Kind: "Deployment", Resource: "deployments", Group: "apps", Namespace: "shop", Name: "web"}, State: ObjectState{Exists: true, Suspended: "spec.paused"}}
	if _, _ = q.Chain(nil, trace.Style{}); !slices.Equal(q.Options.Working, []string{"It is paused: spec.paused is true."}) {
		t.Errorf("%q", q.Options.Working)
	}
}

// That an object is suspended is said once, whether it is healthy or not.
func TestWhySaysThatAnObjectIsSuspended(t *testing.T) {
	const suspended = "It is suspended: spec.suspend is true."
	for problem, want := range map[string][]string{"": {suspended}, "It is not ready: no paint.": {suspended}, "It is not ready: suspended: spec.suspend is true; no quota.": nil} {
		q := Why{About: observe.Object{Kind: "Job", Resource: "jobs", Group: "batch", Namespace: "shop", Name: "a"}, State: ObjectState{Exists: true, Problem: problem, Suspended: "spec.suspend"}}
		if _, _ = q.Chain(nil, trace.Style{}); !slices.Equal(q.Options.Working, want) {
			t.Errorf("%s: %q", problem, q.Options.Working)
		}
	}
}

// That an operator is silent is not said of an object that was just created, or long ago as it may write no status by
// design, or if the time of its creation is not known.
func TestSilentNoteOfANewObject(t *testing.T) {
	now := observe.Snapshot{Time: time.Unix(2000, 0), Clients: []observe.Client{{Name: "operator (bob)", Watches: []observe.ClientWatch{{Resource: "sites.example.com"}}, LastTime: time.Unix(1000, 0)}}}
	for created, want := range map[time.Time]bool{now.Time.Add(-maxSilence): true, now.Time.Add(-maxSilence - 1): false, now.Time.Add(-minSilence): true, now.Time.Add(-minSilence + 1): false, {}: false} {
		if got := silentNote(now, place{"sites.example.com", "shop", "a"}, created); (got != "") != want {
			t.Errorf("created %v: %q", created, got)
		}
	}
}

// An operator that has ended with the test that it was in is not said to be missing.
func TestNeverWatched(t *testing.T) {
	const resource = "sites.example.com"
	watches, watched := []observe.ClientWatch{{Resource: resource}}, []string{resource}
	const never = "no client has watched sites.example.com"
	for name, tc := range map[string]struct {
		client observe.Client
		want   string
	}{
		"watches":        {observe.Client{Name: "operator (admin)", Watches: watches}, ""},
		"has ended":      {observe.Client{Name: "operator (admin)", Watched: watched}, ""},
		"another kind":   {observe.Client{Name: "operator (admin)", Watched: []string{"pods"}}, never},
		"only shown":     {observe.Client{Name: "kubectl (admin)", Watched: watched}, never},
		"is being shown": {observe.Client{Name: "ctrlplane (admin)", Watches: watches}, never},
	} {
		if got := NeverWatchedNote(observe.Snapshot{Clients: []observe.Client{tc.client}}, resource); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// However many objects have no status, the control plane is asked once a second, and not again if it does not answer.
func TestUnreportedNotesAskRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, now, err := 0, observe.Snapshot{}, error(nil)
		notes := NewUnreportedNotes(func() (observe.Snapshot, error) { asked++; return now, err })
		require := func(wantAsked int, want string) {
			t.Helper()
			for range 200 {
				if got := notes.Of("sites.example.com", siteRef("a")); got != want {
					t.Fatalf("got %q, want %q", got, want)
				}
			}
			if asked != wantAsked {
				t.Errorf("asked %d times, want %d", asked, wantAsked)
			}
		}
		require(1, ", and no client watches sites.example.com")
		now.Clients = []observe.Client{{Name: "operator (admin)", Watches: []observe.ClientWatch{{Resource: "sites.example.com"}}}}
		time.Sleep(time.Second)
		require(2, "")
		err = errors.New("no answer")
		time.Sleep(time.Second)
		require(3, "")
		time.Sleep(time.Second)
		require(3, "")
	})
}

// A client that writes the status without its subresource changes nothing, and is told so by no error.
func TestWhySaysThatWritesChangeNothing(t *testing.T) {
	const resource = "sites.example.com"
	now := time.Unix(2000, 0)
	site := observe.Object{Kind: "Site", Resource: "sites", Group: "example.com", Namespace: "shop", Name: "a"}
	call := func(seq uint64, client, verb string, wrote ...observe.Written) observe.Record {
		return observe.Record{Seq: seq, Time: now.Add(-10 * time.Second), Event: &observe.Called{Controller: client, Client: &observe.Caller{User: "bob"}, Verb: verb, Object: site, Status: 200, Began: now.Add(-11 * time.Second), Wrote: wrote}}
	}
	records := []observe.Record{
		call(1, "kubectl (bob)", "create", observe.Written{Resource: resource, Namespace: "shop", Name: "a", ResourceVersion: "7"}),
		call(2, "operator (bob)", "update"), call(3, "operator (bob)", "update"), call(4, "operator (bob)", "update"),
	}
	operator := observe.Client{Name: "operator (bob)", Caller: observe.Caller{User: "bob"}, Watches: []observe.ClientWatch{{Resource: resource}}, LastTime: now}
	const said = "operator (bob) updated it 3 times without a change, last at 00:33:10.000"
	for name, tc := range map[string]struct {
		state   ObjectState
		now     string
		working []string
	}{
		"no status":     {ObjectState{Exists: true, Unreported: resource, Created: now.Add(-time.Minute)}, "It has no status yet, and " + said + ": the status is written by its subresource only.", nil},
		"a status":      {ObjectState{Exists: true}, "", []string{said + "."}},
		"an old status": {ObjectState{Exists: true, Problem: "It is not ready: no paint.", Unreported: resource}, "It is not ready: no paint.", []string{said + "."}},
	} {
		q := Why{About: site, Options: trace.Options{State: observe.Snapshot{Time: now, Clients: []observe.Client{operator}}}, State: tc.state}
		chain, err := q.Chain(records, trace.Style{})
		if err != nil || chain.Now != tc.now || !slices.Equal(chain.Working, tc.working) {
			t.Errorf("%s: %q, %q, %v", name, chain.Now, chain.Working, err)
		}
	}
}

func siteRef(name string) health.Ref {
	return health.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Site"}, Namespace: "shop", Name: name}
}

// An operator that fails for an object is why that has no status; other objects may have the same key.
func TestUnreportedNotesNameFailingOperators(t *testing.T) {
	now := time.Unix(2000, 0)
	failing := []observe.FailingKey{{Key: "shop/a", KeyBasis: observe.BasisQueue, Times: 11, Due: now.Add(2 * time.Second), Error: "no luck."}}
	s := observe.Snapshot{Time: now, Clients: []observe.Client{{Name: "shop (admin)", Watches: []observe.ClientWatch{{Resource: "sites.example.com"}}}}, Controllers: []observe.Controller{
		{Name: "deployment-controller", State: "running", Watches: []string{"deployments.apps", "sites.example.com"}, Failing: failing},
		{Name: "shop/page", State: "running", Watches: []string{"pages.example.com"}, Failing: failing},
		{Name: "shop/site", State: "running", Watches: []string{"sites.example.com"}, Failing: failing},
		{Name: "shop/redis", State: "running", Watches: []string{"redis.example.com"}, Failing: failing},
		{Name: "shop/siteset", State: "running", Watches: []string{"sites.example.com"}, Failing: failing},
	}}
	notes := NewUnreportedNotes(func() (observe.Snapshot, error) { return s, nil })
	for name, want := range map[string]string{"a": ": shop/site fails for shop/a, 11 times in a row, next attempt in 2.0 s: no luck", "b": ""} {
		if got := notes.Of("sites.example.com", siteRef(name)); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	redis := siteRef("a")
	redis.Kind = "Redis" // its plural cannot be guessed
	const fails = "shop/site fails for shop/a, 11 times in a row, next attempt in 2.0 s: no luck"
	for want, state := range map[string]health.State{
		", but " + fails: {Ref: siteRef("a"), Resource: "sites.example.com", Status: health.Current},
		"; " + fails:     {Ref: siteRef("a"), Resource: "sites.example.com", Status: health.Current, Doubt: "its condition Synced is False"},
		"":               {Ref: siteRef("b"), Resource: "sites.example.com", Status: health.Current},
		", but shop/redis fails for shop/a, 11 times in a row, next attempt in 2.0 s: no luck": {Ref: redis, Resource: "redis.example.com", Status: health.Current},
	} {
		if got := notes.OfHealthy(state); got != want {
			t.Errorf("%+v: got %q, want %q", state, got, want)
		}
	}
	if got := notes.OfHealthy(health.State{Ref: siteRef("a"), Status: health.InProgress}); got != "" { // its reason says so
		t.Errorf("not healthy: got %q", got)
	}
}
