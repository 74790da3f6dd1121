package trace

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// What an operator without the module tries again and again in vain is found without naming an object.
func TestFailingWrites(t *testing.T) {
	refused := observe.Called{Verb: "update", Status: 403, Error: "forbidden"}
	created := observe.Called{Verb: "create", Status: 201, Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: "a", ResourceVersion: "9"}}}
	invalid := observe.Called{Verb: "create", Status: 422, Error: "invalid"}
	unnamed := observe.Called{Verb: "create", Status: 403, Error: "exceeded quota", FieldManager: "generate"}
	exists := observe.Called{Verb: "create", Status: 409, Error: `pods "a" already exists`}
	conflict := observe.Called{Verb: "update", Status: 409, Conflict: true}
	failed := observe.Called{Verb: "update", Status: 500, Error: "internal"}
	updated := observe.Called{Verb: "update", Wrote: created.Wrote}
	patchedStatus := observe.Called{Verb: "patch", Subresource: "status", Wrote: created.Wrote}
	removed := observe.Called{Verb: "delete", Controller: "other", Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: "a", ResourceVersion: "10", Deleted: true}}}
	injected := observe.Called{Verb: "update", Status: 409, Conflict: true, Error: observe.InjectedFault}
	held := observe.Called{Verb: "update", Status: 503, Error: observe.NotPerformed + ": context canceled"}
	heldSecret := observe.Called{Verb: "create", Status: 503, Error: "503 ServiceUnavailable: " + observe.NotPerformed}
	ending := observe.Called{Verb: "create", Status: 403, Error: `pods "a" is forbidden: unable to create new content in namespace default because it is being terminated`}
	endedNamespace := observe.Called{Verb: "delete", Controller: "other", Wrote: []observe.Written{{Resource: "namespaces", Name: "default", ResourceVersion: "10", Deleted: true}}}
	otherNamespace := endedNamespace
	otherNamespace.Wrote = []observe.Written{{Resource: "namespaces", Name: "other", ResourceVersion: "10", Deleted: true}}
	of := func(c observe.Called, sync uint64) observe.Called { c.Sync = sync; return c }
	forUser := refused
	forUser.Client = &observe.Caller{Impersonates: "alice"}
	operator := observe.Client{Name: "shop-operator (bob)", Watches: []observe.ClientWatch{{Resource: "pods"}}}
	polls := func(since, last time.Duration) observe.Client {
		at := clientCalls(refused)[0].Event.(*observe.Called).Began
		return observe.Client{Name: operator.Name, Polls: []observe.ClientPoll{{Resource: "sites", Since: at.Add(since), Last: at.Add(last)}}}
	}
	pollsAfterwards := polls(1500*time.Millisecond, 9*time.Second)
	pollsAfterwards.Polls = append(pollsAfterwards.Polls, polls(-time.Second, time.Second).Polls...)
	pollsNoMore := polls(-time.Second, time.Second)
	pollsNoMore.WatchEnded = pollsNoMore.Polls[0].Last.Add(5 * time.Second)
	restarted := operator // after the third call
	restarted.WatchBegan = clientCalls(refused)[0].Event.(*observe.Called).Began.Add(2500 * time.Millisecond)
	sibling := observe.Client{Name: operator.Name, WatchBegan: restarted.WatchBegan.Add(-time.Hour)} // its process watches with another user agent
	for name, tc := range map[string]struct {
		calls  []observe.Called // one a second
		client observe.Client
		later  time.Duration // than the last
		want   []string
	}{
		"refused":                      {[]observe.Called{refused, refused, refused, refused}, operator, 0, []string{"fails to update Pod default/a, 4 times in a row: 403: forbidden"}},
		"may have been too early":      {[]observe.Called{refused, refused}, operator, 0, nil},
		"one succeeded":                {[]observe.Called{refused, refused, updated, refused, refused}, operator, 0, nil},
		"created by itself at last":    {[]observe.Called{invalid, invalid, invalid, created}, operator, 0, nil},
		"the object was removed":       {[]observe.Called{refused, refused, refused, removed}, operator, 0, nil},
		"conflicts":                    {slices.Repeat([]observe.Called{conflict}, 5), operator, 0, nil},
		"conflicts without end":        {slices.Repeat([]observe.Called{conflict}, 6), operator, 0, []string{"fails to update Pod default/a, 6 times in a row: conflict: the object has been modified"}},
		"conflicts with a success":     {slices.Concat(slices.Repeat([]observe.Called{conflict}, 5), []observe.Called{updated}, slices.Repeat([]observe.Called{conflict}, 5)), operator, 0, nil},
		"conflicts, then a patch":      {append(slices.Repeat([]observe.Called{conflict}, 6), patchedStatus), operator, 0, nil},
		"conflicts, and it stops":      {slices.Repeat([]observe.Called{conflict}, 7), operator, 20 * time.Second, nil},
		"conflicts, and an error":      {[]observe.Called{conflict, conflict, failed}, operator, 0, nil},
		"errors, and a conflict":       {[]observe.Called{failed, failed, conflict, failed}, operator, 0, []string{"fails to update Pod default/a, 3 times in a row: 500: internal"}},
		"refused, then a conflict":     {[]observe.Called{refused, refused, refused, conflict}, operator, 0, nil},
		"injected conflicts":           {slices.Repeat([]observe.Called{injected}, 5), operator, 0, nil},
		"injected without end":         {slices.Repeat([]observe.Called{injected}, 6), operator, 0, []string{"fails to update Pod default/a, 6 times in a row: 409: " + observe.InjectedFault}},
		"given up while held":          {[]observe.Called{held, held, held}, operator, 0, nil},
		"a Secret, while held":         {[]observe.Called{heldSecret, heldSecret, heldSecret}, operator, 0, nil},
		"refused, then held":           {[]observe.Called{refused, refused, refused, held}, operator, 0, []string{"fails to update Pod default/a, 3 times in a row: 403: forbidden"}},
		"it exists":                    {[]observe.Called{exists, exists, exists}, operator, 0, nil},
		"a generated name":             {[]observe.Called{unnamed, unnamed, unnamed}, operator, 0, []string{"fails to create Pod in default, 3 times in a row: 403: exceeded quota"}},
		"a generated name, at last":    {[]observe.Called{unnamed, unnamed, unnamed, created}, operator, 0, nil},
		"as another user":              {[]observe.Called{forUser, forUser, forUser}, operator, 0, []string{"as alice fails to update Pod default/a, 3 times in a row: 403: forbidden"}},
		"its failing syncs are known":  {[]observe.Called{of(refused, 1), of(refused, 2), of(refused, 3)}, operator, 0, nil},
		"a test, which does not watch": {[]observe.Called{invalid, invalid, invalid}, observe.Client{Name: operator.Name}, 0, nil},
		"polls":                        {[]observe.Called{refused, refused, refused}, polls(-time.Second, time.Second), 0, []string{"fails to update Pod default/a, 3 times in a row: 403: forbidden"}},
		"has polled, and has ended":    {[]observe.Called{refused, refused, refused}, pollsNoMore, 0, nil},
		"a test, which then listed":    {[]observe.Called{invalid, invalid, invalid}, polls(time.Second, 9*time.Second), 0, nil},
		"a test, which had listed":     {[]observe.Called{invalid, invalid, invalid}, polls(-9*time.Second, -time.Second), 0, nil},
		"polls, after a break":         {[]observe.Called{refused, refused, refused, refused, refused}, polls(1500*time.Millisecond, 4*time.Second), 0, []string{"fails to update Pod default/a, 3 times in a row: 403: forbidden"}},
		"polls, and fails before":      {[]observe.Called{refused, refused, refused, refused}, polls(1500*time.Millisecond, 4*time.Second), 0, nil},
		"polls several":                {[]observe.Called{refused, refused, refused}, pollsAfterwards, 0, []string{"fails to update Pod default/a, 3 times in a row: 403: forbidden"}},
		"another user agent watches":   {[]observe.Called{refused, refused, refused}, sibling, 0, []string{"fails to update Pod default/a, 3 times in a row: 403: forbidden"}},
		"in a namespace that ends":     {[]observe.Called{ending, ending, ending, ending}, operator, 0, nil},
		"in a namespace that is gone":  {[]observe.Called{refused, refused, refused, endedNamespace}, operator, 0, nil},
		"another namespace is gone":    {[]observe.Called{refused, refused, refused, otherNamespace}, operator, 0, []string{"fails to update Pod default/a, 3 times in a row: 403: forbidden"}},
		"of an earlier process":        {[]observe.Called{refused, refused, refused}, restarted, 0, nil},
		"of both processes":            {[]observe.Called{refused, refused, refused, refused, refused, refused, refused}, restarted, 0, []string{"fails to update Pod default/a, 4 times in a row: 403: forbidden"}},
		"still tried":                  {[]observe.Called{refused, refused, refused}, operator, time.Minute, []string{"fails to update Pod default/a, 3 times in a row, last 1 m 01 s ago: 403: forbidden"}},
		"not tried any more":           {[]observe.Called{refused, refused, refused}, operator, 2 * time.Minute, nil},
	} {
		impersonates := tc.calls[0].Client
		records := clientCalls(tc.calls...)
		for i := range records {
			c := records[i].Event.(*observe.Called)
			c.Object = pod("a")
			if c.FieldManager == "generate" {
				c.Object.Name = ""
			}
			if impersonates != nil {
				c.Client = impersonates
			}
			if c.Controller = operator.Name; c.Verb == "delete" {
				c.Controller = "other"
			}
		}
		now := observe.Snapshot{Time: records[len(records)-1].Time.Add(tc.later), Clients: []observe.Client{tc.client}}
		var got []string
		for _, f := range failingWritesIn(records, now) {
			got = append(got, f.String())
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %s", name, fmt.Sprintf("%q", got))
		}
	}
}

// Several workers claim an object, and one wins. A program that is about to try again has the answer to its last attempt, and
// goes on for some time.
func TestConflictsOfSeveralWorkers(t *testing.T) {
	operator := observe.Client{Name: "shop-operator (bob)", Watches: []observe.ClientWatch{{Resource: "pods"}}}
	const second = time.Second
	claimed := []observe.Written{{Resource: "pods", Namespace: "default", Name: "a", ResourceVersion: "9"}}
	for name, tc := range map[string]struct {
		pause, took time.Duration // of each conflict
		won         time.Duration // how long the stored write takes, which is the first to begin
		want        int
	}{
		"at once":                     {time.Millisecond, 20 * time.Millisecond, time.Millisecond, 0},
		"at once, with slow answers":  {second, 20 * second, time.Millisecond, 0},
		"one after the other":         {second, time.Millisecond, time.Millisecond, 1},
		"one soon after the other":    {second / 2, time.Millisecond, time.Millisecond, 0},
		"one long after the other":    {15 * second, time.Millisecond, time.Millisecond, 0},
		"while the winner is waiting": {second, time.Millisecond, 20 * second, 0},
	} {
		records := clientCalls(append([]observe.Called{{Verb: "update", Wrote: claimed}}, slices.Repeat([]observe.Called{{Verb: "update", Status: 409, Conflict: true}}, 7)...)...)
		began := records[0].Time
		for i := range records {
			c := records[i].Event.(*observe.Called)
			c.Controller, c.Object = operator.Name, pod("a")
			if c.Began, c.Took = began, tc.won; i > 0 {
				c.Began, c.Took = began.Add(time.Duration(i)*tc.pause), tc.took
			}
			records[i].Time = c.Began.Add(c.Took)
		}
		now := observe.Snapshot{Time: records[len(records)-1].Time, Clients: []observe.Client{operator}}
		if got := failingWritesIn(records, now); len(got) != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A program goes on with a write that cannot succeed, whatever else it writes in between, and however rarely it tries.
func TestConflictsOfOneWorker(t *testing.T) {
	operator := observe.Client{Name: "shop-operator (bob)", Watches: []observe.ClientWatch{{Resource: "pods"}}}
	conflict := observe.Called{Verb: "update", Status: 409, Conflict: true}
	stale, injected := conflict, conflict
	stale.ReadVersion, injected.Error = "7", observe.InjectedFault
	status := observe.Called{Verb: "patch", Subresource: "status", Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: "a", ResourceVersion: "9"}}}
	refused := observe.Called{Verb: "update", Status: 422, Error: "invalid"}
	repeated := func(calls ...observe.Called) []observe.Called { return slices.Repeat(calls, 7) }
	for name, tc := range map[string]struct {
		calls []observe.Called
		pause time.Duration
		want  int
	}{
		"writes the status in between":  {repeated(status, conflict), time.Second, 1},
		"and then the status":           {append(repeated(conflict), status), time.Second, 0},
		"the same version, rarely":      {repeated(stale), 15 * time.Second, 1},
		"unknown versions, rarely":      {repeated(conflict), 15 * time.Second, 0},
		"injected, rarely":              {repeated(injected), 15 * time.Second, 1},
		"refused often, and a conflict": {append(repeated(refused), conflict), time.Second, 1},
		"refused, and a conflict":       {[]observe.Called{refused, refused, refused, conflict}, time.Second, 0},
	} {
		records := clientCalls(tc.calls...)
		began := records[0].Time
		for i := range records {
			c := records[i].Event.(*observe.Called)
			c.Controller, c.Object, c.Began, c.Took = operator.Name, pod("a"), began.Add(time.Duration(i)*tc.pause), time.Millisecond
			records[i].Time = c.Began.Add(c.Took)
		}
		now := observe.Snapshot{Time: records[len(records)-1].Time, Clients: []observe.Client{operator}}
		if got := failingWritesIn(records, now); len(got) != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Records are read only if enough calls of a client have failed, of which conflicts are counted separately.
func TestConflictsWithoutEndAreSearchedFor(t *testing.T) {
	records := clientCalls(slices.Repeat([]observe.Called{{Controller: "shop (bob)", Verb: "update", Status: 409, Conflict: true}}, 6)...)
	shop := observe.Client{Name: "shop (bob)", Conflicts: 6, Watches: []observe.ClientWatch{{Resource: "sites.example.com"}}}
	for i := range records {
		records[i].Event.(*observe.Called).Controller = shop.Name
	}
	now := observe.Snapshot{Time: records[len(records)-1].Time, Clients: []observe.Client{shop}}
	found, err := FindFailingWrites(t.Context(), &pageSource{records: records}, now)
	if err != nil || len(found) != 1 || found[0].Times != 6 {
		t.Errorf("got %+v, %v", found, err)
	}
}

// A conflict or two, as nearly each operator has had, are not a reason to search the records.
func TestHasFailedWrites(t *testing.T) {
	watches := []observe.ClientWatch{{Resource: "pods"}}
	for name, tc := range map[string]struct {
		clients []observe.Client
		want    bool
	}{
		"often":               {[]observe.Client{{Name: "shop", Watches: watches, Errors: failingOften}}, true},
		"often, both":         {[]observe.Client{{Name: "shop", Watches: watches, Errors: 1, Conflicts: failingOften - 1}}, true},
		"seldom":              {[]observe.Client{{Name: "shop", Watches: watches, Conflicts: failingOften - 1}}, false},
		"seldom, two clients": {[]observe.Client{{Name: "shop", Watches: watches, Errors: 2}, {Name: "site", Watches: watches, Errors: 2}}, false},
		"does not try again":  {[]observe.Client{{Name: "shop.test", Errors: failingOften}}, false},
	} {
		if got := HasFailedWrites(observe.Snapshot{Clients: tc.clients}); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A client that backs off is not thought to have stopped.
func TestFailingWriteThatBacksOff(t *testing.T) {
	operator := observe.Client{Name: "shop-operator (bob)", Watches: []observe.ClientWatch{{Resource: "pods"}}}
	records := clientCalls(slices.Repeat([]observe.Called{{Verb: "update", Status: 403, Error: "forbidden"}}, 4)...)
	at := records[0].Time
	for i := range records {
		c := records[i].Event.(*observe.Called)
		c.Controller, c.Began = operator.Name, at
		records[i].Time = at.Add(c.Took)
		at = at.Add(time.Minute << i) // the last pause is 4 minutes
	}
	last := records[3].Time
	for later, want := range map[time.Duration]int{8 * time.Minute: 1, 13 * time.Minute: 0} {
		if got := failingWritesIn(records, observe.Snapshot{Time: last.Add(later), Clients: []observe.Client{operator}}); len(got) != want {
			t.Errorf("after %v: %v", later, got)
		}
	}
}

// A test that waits for an object lists often. Refusals that it expects follow each other at once.
func TestRefusalsOfATestThatLists(t *testing.T) {
	records := clientCalls(slices.Repeat([]observe.Called{{Verb: "create", Status: 422, Error: "invalid"}}, 4)...)
	began := records[0].Time
	client := observe.Client{Name: "test (bob)", Polls: []observe.ClientPoll{{Resource: "sites", Since: began.Add(-time.Minute), Last: began.Add(time.Minute)}}}
	for pause, want := range map[time.Duration]int{100 * time.Millisecond: 0, time.Second: 1} {
		for i := range records {
			c := records[i].Event.(*observe.Called)
			c.Controller, c.Began = client.Name, began.Add(time.Duration(i)*pause)
			records[i].Time = c.Began.Add(c.Took)
		}
		if got := failingWritesIn(records, observe.Snapshot{Time: began.Add(time.Minute), Clients: []observe.Client{client}}); len(got) != want {
			t.Errorf("every %v: %v", pause, got)
		}
	}
}

// What fails under another generated name each time is one write that fails again and again.
func TestFailingWritesWithGeneratedNames(t *testing.T) {
	operator := observe.Client{Name: "kcp (bob)", Watches: []observe.ClientWatch{{Resource: "pods"}}}
	owner := &observe.Object{Kind: "KubeadmControlPlane", Name: "alpha", UID: "u1"}
	other := &observe.Object{Kind: "KubeadmControlPlane", Name: "beta", UID: "u2"}
	of := func(c observe.Called, name string, o *observe.Object) observe.Called {
		c.Object, c.Owner = pod(name), o
		if c.Status < 400 && !c.DryRun {
			c.Wrote = []observe.Written{{Resource: "pods", Namespace: "default", Name: name, ResourceVersion: "9"}}
		}
		return c
	}
	refused := observe.Called{Verb: "create", Status: 500, Error: "webhook is down"}
	applied := observe.Called{Verb: "patch", Status: 500, Error: "webhook is down"}
	exists := observe.Called{Verb: "create", Status: 409, Error: `pods "a" already exists`}
	ending := observe.Called{Verb: "create", Status: 403, Error: `pods "a" is forbidden: unable to create new content in namespace default because it is being terminated`}
	dryRun, quota := refused, observe.Called{Verb: "create", Status: 403, Error: "exceeded quota"}
	dryRun.DryRun = true
	succeeds, appliedNew, changed := observe.Called{Verb: "create", Status: 201}, observe.Called{Verb: "patch", Status: 201}, observe.Called{Verb: "patch", Status: 200}
	tried := succeeds
	tried.DryRun = true
	gone := observe.Called{Verb: "delete", Status: 200, Object: observe.Object{Group: "cp.example", Resource: "kcps", Kind: "KubeadmControlPlane", Namespace: "default", Name: "alpha", UID: "u1"}}
	gone.Wrote = []observe.Written{{Resource: "kcps.cp.example", Namespace: "default", Name: "alpha", ResourceVersion: "10", Deleted: true}}
	three := func(c observe.Called, o *observe.Object) []observe.Called {
		return []observe.Called{of(c, "a", o), of(c, "b", o), of(c, "c", o)}
	}
	const created = "fails to create Pod default/c for KubeadmControlPlane alpha, 3 times in a row under another name each time: 500: webhook is down"
	for name, tc := range map[string]struct {
		calls []observe.Called // one a second
		want  []string
	}{
		"creations":                {three(refused, owner), []string{created}},
		"applies":                  {three(applied, owner), []string{"fails to patch Pod default/c for KubeadmControlPlane alpha, 3 times in a row under another name each time: 500: webhook is down"}},
		"without an owner":         {three(refused, nil), []string{"fails to create Pod default/c, 3 times in a row under another name each time: 500: webhook is down"}},
		"patches of other objects": {three(applied, nil), nil},
		"applies to what exists":   {slices.Concat([]observe.Called{of(changed, "a", nil), of(changed, "b", nil), of(changed, "c", nil)}, three(applied, owner)), nil},
		"twice":                    {three(refused, owner)[:2], nil},
		"for several owners":       {[]observe.Called{of(refused, "a", owner), of(refused, "b", other), of(refused, "c", owner), of(refused, "d", other)}, nil},
		"for several reasons":      {[]observe.Called{of(refused, "a", owner), of(quota, "b", owner), of(refused, "c", owner)}, nil},
		"one succeeded":            {slices.Concat(three(refused, owner), []observe.Called{of(succeeds, "d", owner)}), nil},
		"one was applied":          {slices.Concat(three(refused, owner), []observe.Called{of(appliedNew, "d", owner)}), nil},
		"one succeeded in between": {[]observe.Called{of(refused, "a", owner), of(refused, "b", owner), of(succeeds, "c", owner), of(refused, "d", owner), of(refused, "e", owner)}, nil},
		"another owner's":          {slices.Concat(three(refused, owner), []observe.Called{of(succeeds, "d", other)}), []string{created}},
		"a change of another one":  {slices.Concat(three(refused, owner), []observe.Called{of(changed, "d", owner)}), []string{created}},
		"a dry run succeeded":      {slices.Concat(three(refused, owner), []observe.Called{of(tried, "d", owner)}), []string{created}},
		"dry runs":                 {three(dryRun, owner), nil},
		"the names are taken":      {three(exists, owner), nil},
		"the namespace ends":       {three(ending, owner), nil},
		"the owner is gone":        {slices.Concat(three(refused, owner), []observe.Called{gone}), nil},
		"each name is tried again": {slices.Repeat(three(refused, owner), 3), []string{
			"fails to create Pod default/a, 3 times in a row: 500: webhook is down", "fails to create Pod default/b, 3 times in a row: 500: webhook is down", "fails to create Pod default/c, 3 times in a row: 500: webhook is down",
		}},
		"one name more":             {slices.Concat(slices.Repeat(three(refused, owner)[:1], 3), three(refused, owner)[1:]), []string{"fails to create Pod default/a, 3 times in a row: 500: webhook is down"}},
		"a dry run before each":     {slices.Repeat([]observe.Called{of(tried, "a", owner), of(refused, "a", owner)}, 3), []string{"fails to create Pod default/a, 3 times in a row: 500: webhook is down"}},
		"a dry run again and again": {slices.Repeat([]observe.Called{of(dryRun, "a", owner)}, 3), []string{"fails to create Pod default/a in a dry run, 3 times in a row: 500: webhook is down"}},
		"a dry run, then the write": {slices.Concat(slices.Repeat([]observe.Called{of(dryRun, "a", owner)}, 3), []observe.Called{of(succeeds, "a", owner)}), nil},
	} {
		var objects []observe.Object
		for i := range tc.calls {
			objects = append(objects, tc.calls[i].Object)
		}
		records := clientCalls(slices.Clone(tc.calls)...)
		for i := range records {
			c := records[i].Event.(*observe.Called)
			c.Object, c.Controller = objects[i], operator.Name
		}
		now := observe.Snapshot{Time: records[len(records)-1].Time, Clients: []observe.Client{operator}}
		var got []string
		for _, f := range failingWritesIn(records, now) {
			got = append(got, f.String())
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// The children that a client creates at once are not attempts at one of them.
func TestCreationsThatFailAtOnce(t *testing.T) {
	operator := observe.Client{Name: "kcp (bob)", Watches: []observe.ClientWatch{{Resource: "pods"}}}
	records := clientCalls(slices.Repeat([]observe.Called{{Verb: "create", Status: 500, Error: "webhook is down"}}, 4)...)
	began := records[0].Time
	for i := range records {
		c := records[i].Event.(*observe.Called)
		c.Controller, c.Object, c.Began = operator.Name, pod(fmt.Sprint("a", i)), began.Add(time.Duration(i)*100*time.Millisecond)
		records[i].Time = c.Began.Add(c.Took)
	}
	if got := failingWritesIn(records, observe.Snapshot{Time: began.Add(time.Second), Clients: []observe.Client{operator}}); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}
