package trace

import (
	"slices"
	"testing"

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
		if got := Working(tc.now, tc.records, tc.about, Style{}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q", name, got)
		}
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

// Of an operator without the module it is known what it has written, and whether it has a connection.
func TestClientsThatHaveEnded(t *testing.T) {
	const name = "shop-operator (admin)"
	records := []observe.Record{
		{Seq: 3, Time: workStart, Event: &observe.Delivered{Controller: name, Change: observe.Added, Object: workSite("a")}},
		{Seq: 4, Time: workStart, Event: &observe.Called{Controller: name, Verb: "create", Status: 201, Cause: 3, Object: deployment("a")}},
		{Seq: 5, Time: workStart, Event: &observe.Called{Controller: name, Verb: "create", Status: 201, Object: pod("a")}},
	}
	ended := observe.Client{Name: name, LastTime: workStart}
	watching, reporting := ended, ended
	watching.Watches, reporting.Controllers = []observe.ClientWatch{{Resource: "sites.example.com"}}, []string{"shop-operator/site"}
	const want = name + " has most likely ended: it has no connection, and made its last request at 12:00:00.000 (40.0 s ago)."
	for text, tc := range map[string]struct {
		client observe.Client
		about  observe.Object
		want   []string
	}{
		"its object":      {ended, workSite("a"), []string{want}},
		"what it made":    {ended, deployment("a"), []string{want}},
		"without a cause": {ended, pod("a"), nil},
		"watches":         {watching, workSite("a"), nil},
		"reports":         {reporting, workSite("a"), nil},
		"another object":  {ended, workSite("b"), nil},
	} {
		now := workState(40, "running")
		now.Clients = []observe.Client{tc.client}
		if got := Working(now, records, tc.about, Style{}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q", text, got)
		}
	}
}
