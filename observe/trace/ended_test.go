package trace

import (
	"slices"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// An operator that has ended is said with the objects that it works for, as long as it does not run.
func TestOperatorsThatDoNotRun(t *testing.T) {
	const killed = "its process has closed its connection without a last report; last heard of during the sync of default/a"
	state := func(is, reason string) observe.Snapshot {
		s := workState(40, is)
		s.Controllers[0].Reason, s.Controllers[0].Since, s.Controllers[0].Watches = reason, workStart, []string{"deployments.apps", "sites.example.com"}
		s.Queues = nil
		return s
	}
	shop := func(s observe.Snapshot) observe.Snapshot { // a controller whose name says nothing
		s.Controllers[0].Name = "operator/shop"
		return s
	}
	synced := observe.Record{Seq: 8, Time: workStart, Event: &observe.Synced{Controller: "operator/shop", Queue: "shop", Key: "default/a", KeyBasis: observe.BasisQueue}}
	event := queued(0, workSite("a"), 2)
	event.Event.(*observe.Delivered).Controller, event.Event.(*observe.Delivered).Queues = "operator/shop", []string{"shop"}
	wrote := observe.Record{Seq: 9, Time: workStart, Event: &observe.Called{Controller: "operator/site", Verb: "create", Status: 201, Object: deployment("web")}}
	const off = "operator/site has not run since 12:00:00.000 (40.0 s): " + killed + "."
	for name, tc := range map[string]struct {
		now     observe.Snapshot
		records []observe.Record
		about   observe.Object
		want    []string
	}{
		"killed":                  {state("off", killed), nil, workSite("new"), []string{off}},
		"killed, and paused":      {paused(state("off", killed)), nil, workSite("new"), []string{off}},
		"just now":                {state("unknown", killed), nil, workSite("new"), []string{"operator/site has most likely not run since 12:00:00.000 (40.0 s): " + killed + "."}},
		"not the leader":          {state("building", "its process waits to be the leader"), nil, workSite("new"), []string{"operator/site has been waiting since 12:00:00.000 (40.0 s): its process waits to be the leader."}},
		"runs without the module": {connected(state("off", killed)), nil, workSite("new"), nil},
		"the standby runs":        {connected(state("unknown", killed)), nil, workSite("new"), []string{"operator/site has most likely not run since 12:00:00.000 (40.0 s): " + killed + "."}},
		"runs":                    {state("running", ""), nil, workSite("new"), nil},
		"an object that it made":  {state("off", killed), []observe.Record{wrote}, deployment("web"), []string{off}},
		"another object":          {state("off", killed), []observe.Record{wrote}, deployment("other"), nil},
		"a key that it synced":    {shop(state("off", killed)), []observe.Record{event, synced}, workSite("a"), []string{"operator/shop has not run since 12:00:00.000 (40.0 s): " + killed + "."}},
		"another key":             {shop(state("off", killed)), []observe.Record{event, synced}, workSite("b"), nil},
		"the key of another kind": {shop(state("off", killed)), []observe.Record{event, synced}, pod("a"), nil},
	} {
		if got := Working(Options{State: tc.now}, tc.records, tc.about, Style{}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q", name, got)
		}
		if got := NotRunning(tc.now, tc.records, tc.about, Style{}); !slices.Equal(got, tc.want) || len(got) > 0 && !MayHaveEnded(tc.now) {
			t.Errorf("%s: not running: %q", name, got)
		}
	}
	if now := workState(40, "running"); MayHaveEnded(now) {
		t.Error("all operators run")
	}
}

// The end of dev's operator is said of what an operator works for that does not run, and of any custom resource.
func TestOperatorOfDevThatHasEnded(t *testing.T) {
	now := workState(40, "running")
	now.Queues = nil
	now.Process.EndedOperator = observe.EndedOperator{Time: workStart, Reason: "the operator exited with code 2: panic: x"}
	off := now
	off.Controllers = slices.Clone(now.Controllers)
	off.Controllers[0].State, off.Controllers[0].Reason, off.Controllers[0].Since = observe.StateOff, observe.GoneEnded.Reason(nil), workStart
	wrote := observe.Record{Seq: 9, Time: workStart, Event: &observe.Called{Controller: "operator/site", Verb: "create", Status: 201, Object: deployment("web")}}
	const dev = "The operator of dev has not run since 12:00:00.000 (40.0 s): it exited with code 2: panic: x; dev starts it again when a source changes."
	for name, tc := range map[string]struct {
		now   observe.Snapshot
		about observe.Object
		want  int // sentences
	}{
		"a custom resource":                       {now, workSite("a"), 1},
		"not one of the operator":                 {now, deployment("web"), 0},
		"what it made, and it reports":            {off, deployment("web"), 2},
		"a kind of Kubernetes that is in a group": {now, observe.Object{Group: "networking.k8s.io", Resource: "ingresses", Namespace: "default", Name: "a"}, 0},
	} {
		got := Working(Options{State: tc.now}, []observe.Record{wrote}, tc.about, Style{})
		if len(got) != tc.want || tc.want > 0 && got[0] != dev {
			t.Errorf("%s: got %q", name, got)
		}
	}
	now.Process.EndedOperator = observe.EndedOperator{}
	if got := Working(Options{State: now}, nil, workSite("a"), Style{}); got != nil {
		t.Errorf("while it runs: got %q", got)
	}
}

// connected returns the state with a process of the client that does not report.
func connected(s observe.Snapshot) observe.Snapshot {
	s.Clients = []observe.Client{{Name: "operator (admin)", Connected: true, Controllers: []string{"operator/site"}}}
	return s
}

// paused returns the state with a pause of the controller, which hides what its process does.
func paused(s observe.Snapshot) observe.Snapshot {
	c := &s.Controllers[0]
	c.State, c.Process = observe.StatePaused, c.State
	return s
}

// A controller that runs for the objects in the place of one that has ended, under another name, makes up for it.
func TestOperatorsThatAreReplaced(t *testing.T) {
	ended := observe.Controller{Name: "operator/site", State: "off", Reason: observe.GoneEnded.Reason(nil), Gone: observe.GoneEnded, Since: workStart}
	other := func(name, state string, watches ...string) observe.Controller {
		return observe.Controller{Name: name, State: state, Watches: watches, Since: workStart}
	}
	for text, tc := range map[string]struct {
		other observe.Controller
		atEnd bool
		want  int
	}{
		"another user":         {other("operator (u/2)/site", "running", "pods", "sites.example.com"), false, 0},
		"another program":      {other("operator2/site", "paused", "sites.example.com"), false, 0},
		"it has ended, too":    {other("operator2/site", "off", "sites.example.com"), false, 2},
		"another name":         {other("operator2/page", "running", "sites.example.com"), false, 1},
		"other objects":        {other("operator2/site", "running", "sites.example.org"), false, 1},
		"end of the recording": {other("operator2/page", "running"), true, 0},
	} {
		now := workState(40, "running")
		now.Controllers, now.Queues = []observe.Controller{ended, tc.other}, nil
		if got := Working(Options{State: now, AtEnd: tc.atEnd}, nil, workSite("a"), Style{}); len(got) != tc.want {
			t.Errorf("%s: got %q", text, got)
		}
	}
}

// Of an operator without the module it is known what it has written, and whether it has a watch.
func TestClientsWithoutAWatch(t *testing.T) {
	const name, other = "shop-operator (admin)", "shop (admin)"
	event := func(client string, seq uint64, o observe.Object) observe.Record {
		return observe.Record{Seq: seq, Time: workStart, Event: &observe.Delivered{Controller: client, Change: observe.Added, Object: o}}
	}
	wrote := func(client string, seconds int, cause uint64, verb string, o observe.Object, subresource string) observe.Record {
		return observe.Record{Seq: 90, Time: workStart.Add(time.Duration(seconds) * time.Second), Event: &observe.Called{Controller: client, Verb: verb, Status: 201, Cause: cause, Object: o, Subresource: subresource}}
	}
	created := []observe.Record{event(name, 3, workSite("a")), wrote(name, 0, 3, "create", deployment("a"), "")}
	records := slices.Concat(created, []observe.Record{wrote(name, 0, 0, "create", pod("a"), ""), event(name, 7, workSite("c")), wrote(name, 0, 7, "update", workSite("c"), "status")})
	twice := []observe.Record{created[0], event(name, 4, workSite("a"))}
	received := slices.Clone(records) // with another user agent of the process
	received[0], received[3] = event(other, 3, workSite("a")), event(other, 7, workSite("c"))
	alsoWrote := slices.Concat(received, []observe.Record{event(other, 11, workSite("c")), wrote(other, 5, 11, "create", deployment("c"), ""), event(other, 12, workSite("a")), wrote(other, 5, 12, "create", deployment("d"), "")})
	reacts := slices.Concat(records, []observe.Record{event(other, 10, workSite("a")), wrote(other, 30, 10, "create", deployment("b"), "")})

	silent := observe.Client{Name: name, LastTime: workStart}
	with := func(change func(c *observe.Client)) []observe.Client {
		c := silent
		change(&c)
		return []observe.Client{c}
	}
	shares := func(name, with string, seconds int) observe.Client {
		return observe.Client{Name: name, LastTime: workStart.Add(time.Duration(seconds) * time.Second), SharesConnection: []string{with}}
	}
	otherConnected := shares(other, name, 0)
	otherConnected.Connected = true
	watched := silent
	watched.WatchEnded = workStart
	kubectl := watched
	kubectl.Name = "kubectl (admin)"
	status := wrote(name, 0, 0, "patch", workSite("a"), "status")
	refusedStatus := wrote(other, 1, 0, "patch", workSite("a"), "status")
	refusedStatus.Event.(*observe.Called).Status = 403
	connected := func(name string) observe.Client { return observe.Client{Name: name, Connected: true} }
	const want = name + " has no watch, and made its last request at 12:00:00.000 (1 m 40 s ago)."
	for text, tc := range map[string]struct {
		clients []observe.Client
		records []observe.Record
		about   observe.Object
		want    []string
	}{
		"its object":                 {[]observe.Client{silent}, records, workSite("a"), []string{want}},
		"of which it wrote a status": {[]observe.Client{silent}, records, workSite("c"), []string{want}},
		"what it made":               {[]observe.Client{silent}, records, deployment("a"), []string{want}},
		"without a cause":            {[]observe.Client{silent}, records, pod("a"), nil},
		"another object":             {[]observe.Client{silent}, records, workSite("b"), nil},
		"connected":                  {with(func(c *observe.Client) { c.Connected = true }), records, workSite("a"), nil},
		"watches":                    {with(func(c *observe.Client) { c.Watches = []observe.ClientWatch{{Resource: "sites.example.com"}} }), records, workSite("a"), nil},
		"reports":                    {with(func(c *observe.Client) { c.Controllers = []string{"shop-operator/site"} }), records, workSite("a"), nil},
		"is refused":                 {with(func(c *observe.Client) { c.Refused = "watch of sites.example.com is refused" }), records, workSite("a"), nil},
		"between two requests":       {with(func(c *observe.Client) { c.LastTime = workStart.Add(70 * time.Second) }), records, workSite("a"), nil},
		"its watch has just ended":   {with(func(c *observe.Client) { c.WatchEnded = workStart.Add(95 * time.Second) }), records, workSite("a"), nil},
		"its process watches":        {with(func(c *observe.Client) { c.WatchBegan = workStart }), records, workSite("a"), nil},
		"another user agent watched": {[]observe.Client{shares(name, other, 0), shares(other, name, 5)}, received, workSite("a"), []string{want}},
		"so it does again":           {[]observe.Client{shares(name, other, 0), otherConnected}, received, workSite("a"), nil},
		"both wrote":                 {[]observe.Client{shares(name, other, 0), shares(other, name, 5)}, alsoWrote, workSite("a"), []string{other + " has no watch, and made its last request at 12:00:05.000 (1 m 35 s ago)."}},
		"one event":                  {[]observe.Client{silent}, created, workSite("a"), nil},
		"changes the watched object": {[]observe.Client{silent}, slices.Concat(twice, []observe.Record{wrote(name, 0, 3, "patch", workSite("a"), ""), wrote(name, 0, 4, "patch", workSite("a"), "")}), workSite("a"), nil},
		"deletes":                    {[]observe.Client{silent}, slices.Concat(twice, []observe.Record{wrote(name, 0, 3, "delete", pod("a"), ""), wrote(name, 0, 4, "delete", pod("b"), "")}), workSite("a"), nil},
		"another user runs it":       {[]observe.Client{silent, connected("shop-operator (u)")}, records, workSite("a"), nil},
		"another program reacts":     {[]observe.Client{silent, connected(other)}, reacts, workSite("a"), nil},
		"last wrote the status":      {[]observe.Client{watched}, []observe.Record{status}, workSite("a"), []string{want}},
		"another one was refused":    {[]observe.Client{watched}, []observe.Record{status, refusedStatus}, workSite("a"), []string{want}},
		"another one wrote it since": {[]observe.Client{watched}, []observe.Record{status, wrote(other, 1, 0, "patch", workSite("a"), "status")}, workSite("a"), nil},
		"of another object":          {[]observe.Client{watched}, []observe.Record{status}, workSite("b"), nil},
		"never watched":              {[]observe.Client{silent}, []observe.Record{status}, workSite("a"), nil},
		"kubectl wrote the status":   {[]observe.Client{kubectl}, []observe.Record{wrote(kubectl.Name, 0, 0, "patch", workSite("a"), "status")}, workSite("a"), nil},
		"it reacts to other objects": {[]observe.Client{silent, connected(other)}, reacts, workSite("c"), []string{want}},
	} {
		now := workState(100, "running")
		now.Clients, now.Queues = tc.clients, nil
		if got := Working(Options{State: now}, tc.records, tc.about, Style{}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q", text, got)
		}
		if got := NotRunning(now, tc.records, tc.about, Style{}); !slices.Equal(got, tc.want) || len(got) > 0 && !MayHaveEnded(now) {
			t.Errorf("%s: not running: %q", text, got)
		}
		if got := Working(Options{State: now, AtEnd: true}, tc.records, tc.about, Style{}); len(got) > 0 {
			t.Errorf("%s, at the end of a recording: got %q", text, got)
		}
	}
	if isOperator("ctrlplane (admin)", []observe.Record{
		event("ctrlplane (admin)", 3, workSite("a")), wrote("ctrlplane (admin)", 0, 3, "create", deployment("a"), ""),
		event("ctrlplane (admin)", 4, workSite("a")), wrote("ctrlplane (admin)", 0, 4, "create", deployment("b"), ""),
	}, workSite("a")) {
		t.Error("ctrlplane wait is an operator")
	}
}
