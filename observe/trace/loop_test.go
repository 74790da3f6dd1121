package trace

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// loopJournal has a controller that writes its own object in every sync: the event of
// the write queues the key again. Every nth write creates an object, if n is positive.
func loopJournal(rounds, createEvery int, fail string) []observe.Record {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var all []observe.Record
	add := func(at time.Duration, e observe.Event) uint64 {
		all = append(all, observe.Record{Seq: uint64(len(all) + 1), Time: start.Add(at), Event: e})
		return uint64(len(all))
	}
	web := observe.Object{Resource: "widgets", Group: "example.com", Kind: "Widget", Namespace: "default", Name: "web"}
	for i := range rounds {
		at := time.Duration(i) * 10 * time.Millisecond
		version := fmt.Sprint(100 + i)
		event := add(at, &observe.Delivered{Controller: "widget", Change: observe.Updated, Object: web, ResourceVersion: version, Queues: []string{"widget"}, Adds: []uint64{uint64(i + 1)}, Took: time.Microsecond})
		call := &observe.Called{
			Controller: "widget", Verb: "update", Object: web, Status: 200, Sync: uint64(i + 1), Took: time.Millisecond, ResourceVersion: fmt.Sprint(101 + i),
			Wrote: []observe.Written{{Resource: "widgets.example.com", Namespace: "default", Name: "web", ResourceVersion: fmt.Sprint(101 + i)}},
		}
		if createEvery > 0 && i%createEvery == 0 {
			call.Verb = "create"
		}
		add(at+4*time.Millisecond, call)
		add(at+5*time.Millisecond, &observe.Synced{
			Controller: "widget", Queue: "widget", ID: uint64(i + 1), Key: "default/web", KeyBasis: observe.BasisQueue, Add: uint64(i + 1), Cause: event, Sure: true,
			Waited: time.Millisecond, Took: 3 * time.Millisecond, Writes: 1, Error: fail, Retried: fail != "",
		})
	}
	return all
}

func TestLoops(t *testing.T) {
	found := Loops(loopJournal(30, 0, ""), time.Time{})
	if len(found) != 1 {
		t.Fatalf("got %+v, want one loop", found)
	}
	l := found[0]
	if l.Controller != "widget" || l.Queue != "widget" || l.Key != "default/web" || l.Rounds != 30 || l.Interval() != 10*time.Millisecond {
		t.Errorf("got %+v, every %v", l, l.Interval())
	}
	for o, want := range map[observe.Object]bool{
		{Resource: "widgets", Group: "example.com", Kind: "Widget", Namespace: "default", Name: "web"}:  true,
		{Resource: "others", Group: "example.com", Kind: "Widget", Namespace: "default", Name: "web"}:   true, // the queue is called so
		{Resource: "others", Group: "example.com", Kind: "Other", Namespace: "default", Name: "web"}:    false,
		{Resource: "widgets", Group: "example.com", Kind: "Widget", Namespace: "default", Name: "web2"}: false,
	} {
		if got := l.Concerns(o); got != want {
			t.Errorf("%s: %v", o, got)
		}
	}
	if by := l.Change(); by == nil || by.ResourceVersion != "129" {
		t.Errorf("its change: %+v", by)
	}
	lines := strings.Join(l.Lines(), "\n")
	for _, want := range []string{"updated Widget default/web (version 129)", "saw Widget default/web updated", "synced default/web"} {
		if !strings.Contains(lines, want) {
			t.Errorf("the round does not contain %q:\n%s", want, lines)
		}
	}
}

// Rounds that create objects are counted apart.
func TestProgressIsNoLoop(t *testing.T) {
	found := Loops(loopJournal(30, 2, ""), time.Time{})
	if len(found) == 0 || found[0].Rounds != 30 || found[0].Progress == nil || !found[0].Progress.creates() {
		t.Errorf("got %+v, want a loop that creates objects", found)
	}
	for _, l := range found {
		if l.Progress == nil && l.Rounds > 2 {
			t.Errorf("%d rounds although every second one creates an object", l.Rounds)
		}
	}
}

// journal has events one after the other, each with a sequence number.
type journal struct{ records []observe.Record }

func (j *journal) add(e observe.Event) (seq uint64) {
	if c, ok := e.(*observe.Called); ok {
		c.Took = time.Millisecond
		c.Wrote = []observe.Written{{Resource: c.Object.GroupResource(), Namespace: c.Object.Namespace, Name: c.Object.Name, ResourceVersion: c.ResourceVersion}}
	}
	seq = uint64(len(j.records) + 1)
	j.records = append(j.records, observe.Record{Seq: seq, Time: time.Date(2026, 1, 2, 3, 4, 5, int(seq)*5e6, time.UTC), Event: e})
	return seq
}

const loopingClient = "op (me)"

// A client that creates an object under a generated name for each object that it sees.
func TestCreationsUnderGeneratedNamesAreALoop(t *testing.T) {
	for name, tc := range map[string]struct {
		names    []string
		oneEvent bool // the user's object remains the likely cause
		loop     bool
	}{
		"generated":                         {[]string{"web-x7k2b", "web-bcdfg", "web-z9w4q"}, false, true},
		"generated, one event":              {[]string{"web-x7k2b", "web-bcdfg", "web-z9w4q"}, true, true},
		"names of their own":                {[]string{"web-a", "web-b", "web-c"}, false, false},
		"names of their own, and one event": {[]string{"web-a", "web-b", "web-c"}, true, false},
	} {
		var j journal
		seen := j.add(&observe.Delivered{Controller: loopingClient, Change: observe.Added, Object: observe.Object{Group: "example.com", Resource: "sites", Kind: "Site", Name: "a"}, ResourceVersion: "9"})
		for i := range 3 * len(tc.names) {
			o := observe.Object{Resource: "configmaps", Kind: "ConfigMap", Namespace: "default", Name: tc.names[i%len(tc.names)], UID: fmt.Sprint(i)}
			version := fmt.Sprint(100 + i)
			j.add(&observe.Called{Controller: loopingClient, Client: &observe.Caller{User: "me"}, Verb: "create", Object: o, Status: 201, ResourceVersion: version, Cause: seen})
			if event := j.add(&observe.Delivered{Controller: loopingClient, Change: observe.Added, Object: o, ResourceVersion: version}); !tc.oneEvent {
				seen = event
			}
		}
		found := Loops(j.records, time.Time{})
		if is := len(found) == 1 && found[0].Rounds == 9 && found[0].Progress != nil && found[0].Progress.Object.Kind == "ConfigMap"; is != tc.loop {
			t.Errorf("%s: got %+v", name, found)
		}
	}
}

// A client that changes a Deployment because of what its change has led to: a ReplicaSet is created in each round.
func TestChangesThatAreRolledOutAreALoop(t *testing.T) {
	for subresource, loop := range map[string]bool{"": true, "status": false} {
		var j journal
		web := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"}
		seen := uint64(0)
		for i := range 8 {
			version, next := fmt.Sprint(100+10*i), fmt.Sprint(105+10*i)
			rs := observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "default", Name: fmt.Sprint("web-", i)}
			sync := uint64(i + 1)
			j.add(&observe.Called{Controller: loopingClient, Client: &observe.Caller{User: "me"}, Verb: "update", Subresource: subresource, Object: web, Status: 200, ResourceVersion: version, Cause: seen})
			event := j.add(&observe.Delivered{Controller: controllernames.Deployment, Change: observe.Updated, Object: web, ResourceVersion: version, Queues: []string{"deployment"}, Adds: []uint64{sync}})
			j.add(&observe.Called{Controller: controllernames.Deployment, Verb: "create", Object: rs, Status: 201, ResourceVersion: fmt.Sprint(101 + 10*i), Sync: sync})
			j.add(&observe.Called{Controller: controllernames.Deployment, Verb: "update", Subresource: "status", Object: web, Status: 200, ResourceVersion: next, Sync: sync})
			j.add(&observe.Synced{Controller: controllernames.Deployment, Queue: "deployment", ID: sync, Key: "default/web", KeyBasis: observe.BasisQueue, Add: sync, Cause: event, Sure: true, Took: 9 * time.Millisecond, Writes: 2})
			seen = j.add(&observe.Delivered{Controller: loopingClient, Change: observe.Updated, Object: web, ResourceVersion: next})
		}
		var found []Loop
		for _, l := range Loops(j.records, time.Time{}) {
			if l.Controller == loopingClient {
				found = append(found, l)
			}
		}
		if is := len(found) == 1 && found[0].Rounds == 8 && found[0].Progress != nil && found[0].Progress.Object.Name == "web"; is != loop {
			t.Errorf("%q: got %+v", subresource, found)
		}
	}
}

// A write of a client follows from an event on the client's own watch.
func TestLoopOfAClient(t *testing.T) {
	records := loopJournal(20, 0, "")
	var kept []observe.Record
	last := uint64(0)
	for _, r := range records {
		switch e := r.Event.(type) {
		case *observe.Delivered:
			e.Queues, e.Adds = nil, nil
			last = r.Seq
		case *observe.Called:
			e.Client, e.Sync, e.Cause = &observe.Caller{User: "me"}, 0, last
		case *observe.Synced:
			continue
		}
		kept = append(kept, r)
	}
	found := Loops(kept, time.Time{})
	if len(found) != 1 || found[0].Verb != "update" || found[0].Object == nil || found[0].Object.Name != "web" || found[0].Rounds != 20 {
		t.Errorf("got %+v", found)
	}
}

// The event of the user's write remains the likely cause of all writes that follow.
func TestLoopOfAClientWithOneEvent(t *testing.T) {
	var kept []observe.Record
	event := uint64(0)
	for _, r := range loopJournal(20, 0, "") {
		switch e := r.Event.(type) {
		case *observe.Delivered:
			if event != 0 {
				continue
			}
			e.Queues, e.Adds, event = nil, nil, r.Seq
		case *observe.Called:
			e.Client, e.Sync, e.Cause = &observe.Caller{User: "me"}, 0, event
		case *observe.Synced:
			continue
		}
		kept = append(kept, r)
	}
	found := Loops(kept, time.Time{})
	if len(found) != 1 || found[0].Rounds != 20 || len(found[0].Round) != 2 {
		t.Errorf("got %+v", found)
	}
	for _, r := range kept {
		if c, ok := r.Event.(*observe.Called); ok {
			c.Cause = 0 // it does not react to anything
		}
	}
	if found := Loops(kept, time.Time{}); len(found) > 0 {
		t.Errorf("without an event: %+v", found)
	}
}

// What upstream's controllers did in the recorded journals comes to rest.
func TestRecordedJournalsHaveFewRounds(t *testing.T) {
	for _, name := range []string{"rollout", "statefulset", "job", "hpa", "conflict", "cascade", "namespace"} {
		for _, l := range Loops(loadJournal(t, name), time.Time{}) {
			if l.Rounds >= 8 {
				t.Errorf("%s: %s %s%s: %d rounds, every %v:\n%s", name, l.Controller, l.Key, l.Verb, l.Rounds, l.Interval(), strings.Join(l.Lines(), "\n"))
			}
		}
	}
}

// The rounds of a loop are drawn once, and counted.
func TestLoopsAreFolded(t *testing.T) {
	records := loopJournal(60, 0, "")
	widget := records[0].Event.(*observe.Delivered).Object
	for _, all := range []bool{false, true} {
		tree, err := Build(records, widget, Options{All: all})
		if err != nil {
			t.Fatal(err)
		}
		chain, err := Why(records, widget, Options{What: Changed, All: all})
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"trace": writeString(t, tree, Text, Style{Width: 100}), "why": writeString(t, chain, Text, Style{Width: 100})} {
			lines := strings.Count(text, "\n")
			if said := strings.Contains(text, " more rounds of this loop, each caused by the one before: --all shows them"); said == all || (lines < 20) == all {
				t.Errorf("%s, all %v: %d lines:\n%.3000s", name, all, lines, text)
			}
		}
	}
}

// The rounds of a loop may differ: only some of them have a conflict. One that has what no earlier one has is drawn.
func TestUnevenRoundsAreFolded(t *testing.T) {
	records := loopJournal(120, 0, "")
	widget := records[0].Event.(*observe.Delivered).Object
	for _, r := range records {
		c, ok := r.Event.(*observe.Called)
		if !ok || c.Sync%3 != 1 && c.Sync != 80 {
			continue
		}
		failed := *c
		failed.Status, failed.Conflict, failed.Wrote, failed.ResourceVersion = 409, true, nil, ""
		failed.Error = fmt.Sprintf("Precondition failed: UID in precondition: 43919c18-65b3-4ecf-b709-%012x, UID in object meta: ", c.Sync)
		if c.Sync == 80 {
			failed.Status, failed.Conflict, failed.Error = 403, false, "exceeded quota"
		}
		records = append(records, observe.Record{Seq: 1000 + c.Sync, Time: r.Time.Add(-2 * time.Millisecond), Event: &failed})
	}
	tree, err := Build(records, widget, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := writeString(t, tree, Text, Style{Width: 100})
	if lines := strings.Count(text, "\n"); lines > 60 || strings.Count(text, " more rounds of this loop") != 2 || !strings.Contains(text, "exceeded quota") {
		t.Errorf("%d lines:\n%s", lines, text)
	}
}

// A round in which a webhook was ignored says so.
func TestRoundsWithAnIgnoredWebhookAreDrawn(t *testing.T) {
	records := loopJournal(40, 0, "")
	widget := records[0].Event.(*observe.Delivered).Object
	for i := range records {
		if c, ok := records[i].Event.(*observe.Called); ok && c.Sync == 20 {
			admitted := *c
			admitted.Webhooks = []observe.Webhook{{Name: "a.example.com", Outcome: observe.WebhookIgnored}}
			records[i].Event = &admitted
		}
	}
	tree, err := Build(records, widget, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := writeString(t, tree, Text, Style{Width: 100}); !strings.Contains(text, "a.example.com") || !strings.Contains(text, "more rounds of this loop") {
		t.Errorf("got:\n%s", text)
	}
}

// A chain of causes repeats itself, though not each time in the same way.
func TestUnevenRoundsOfAChainAreFolded(t *testing.T) {
	c := &Chain{About: pod("wh"), What: Changed, Complete: true}
	add := func(n *Node) { c.Links = append(c.Links, n) }
	for i := range 40 {
		add(&Node{Kind: Call, Verb: "update", Controller: "a", Object: &observe.Object{Kind: "Pod", Name: "wh"}, Status: 200})
		if i%3 == 1 {
			add(&Node{Kind: Sync, Controller: "b", Key: "default/wh", KeyBasis: observe.BasisQueue})
		}
		add(&Node{Kind: Event, Controller: "a", Change: observe.Updated, Object: &observe.Object{Kind: "Pod", Name: "wh"}})
	}
	if text := writeString(t, c, Text, Style{}); !strings.Contains(text, " more rounds of this loop") || strings.Count(text, "\n") > 20 {
		t.Errorf("got:\n%s", text)
	}
}

// Attempts that fail in the same way are counted in a chain, too.
func TestFailedAttemptsOfAChainAreFolded(t *testing.T) {
	c := &Chain{About: pod("wh"), What: Refused, Complete: true}
	c.Links = append(c.Links, &Node{Kind: Call, Verb: "create", Controller: "site", Object: &observe.Object{Kind: "Pod", Name: "wh"}, Status: 400, Failed: true, Error: "denied"})
	for range 12 {
		c.Links = append(c.Links, &Node{Kind: Sync, Controller: "site", Key: "default/wh", KeyBasis: observe.BasisQueue, Retried: true, Failed: true, Error: "denied", Cause: &Cause{Rule: ByRetry}, causedBy: &Node{Kind: Sync}})
	}
	c.Links = append(c.Links, &Node{Kind: Event, Controller: "site", Change: observe.Added, Object: &observe.Object{Kind: "Site", Name: "wh"}})
	if text := writeString(t, c, Text, Style{}); !strings.Contains(text, "… 10 more attempts failed in the same way: --all shows them") || strings.Count(text, "again") != 2 {
		t.Errorf("got:\n%s", text)
	}
}

// Of the writes that a client without the module most likely made for one event, the first and the last are drawn.
func TestWritesOfAClientForOneEventAreFolded(t *testing.T) {
	write := observe.Called{Verb: "update", Subresource: "status", ResourceVersion: "8"}
	calls := []observe.Called{{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}}
	for i := range 20 {
		write.Wrote = deploymentWritten(fmt.Sprint(8+i), false)
		calls = append(calls, write)
	}
	records := clientCalls(calls...)
	for _, r := range records[1:] {
		c := r.Event.(*observe.Called)
		c.Controller, c.Cause = "shop-operator", 99
	}
	records = append(records, observe.Record{Seq: 99, Time: records[0].Time.Add(1), Event: &observe.Delivered{
		Controller: "shop-operator", Change: observe.Added, Object: deployment("web"), ResourceVersion: "7",
	}})
	tree, err := Build(records, deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := writeString(t, tree, Text, Style{}); !strings.Contains(text, "… 18 more writes like this: --all shows them") || strings.Count(text, "saw it added") != 2 {
		t.Errorf("got:\n%s", text)
	}
}
