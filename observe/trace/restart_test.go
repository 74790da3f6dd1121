package trace

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/observe"
)

// An object that is older than the last start has no recorded creation, which is said.
func TestWhySaysWhereRecordsBegin(t *testing.T) {
	web, at := deployment("web"), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var records []observe.Record
	for i, e := range []observe.Event{
		&observe.Delivered{Controller: "deployment-controller", Change: observe.Listed, Object: web, ResourceVersion: "26", Queues: []string{"deployment"}, Adds: []uint64{1}},
		&observe.Called{Controller: "deployment-controller", Verb: "update", Object: web, Subresource: "status", Status: 200, ResourceVersion: "30", Sync: 1},
		&observe.Synced{Controller: "deployment-controller", Queue: "deployment", ID: 1, Key: "default/web", KeyBasis: observe.BasisLog, Add: 1, LastAdd: 1, Cause: 1, Sure: true},
	} {
		records = append(records, observe.Record{Seq: uint64(i + 1), Time: at.Add(time.Duration(i) * time.Millisecond), Event: e})
	}
	chain, err := Why(records, web, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"because it found Deployment web when it started.", "Records begin with the last start of the control plane"} {
		if got := writeString(t, chain, Text, Style{}); !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	_, err = Why(records, web, Options{What: Created})
	if err == nil || !strings.Contains(err.Error(), "no record that it was created since the last start of the control plane") {
		t.Errorf("got %v", err)
	}
	unknown := new(UnknownChangeError)
	if !errors.As(err, &unknown) {
		t.Fatalf("got %T", err)
	}
	for missed, want := range map[uint64]string{
		0: "What led to it is not known: the records begin at 03:04:05.000, with the last start of the control plane.",
		2: "What led to it is not known: 2 older records were dropped.",
	} {
		if unknown.Missed = missed; unknown.Sentence(Style{}) != want {
			t.Errorf("%d dropped: %s", missed, unknown.Sentence(Style{}))
		}
	}
}

// An operator that starts after an object was created lists it: what it does follows from the
// creation.
func TestWhyGoesOnBeforeAList(t *testing.T) {
	c := newCluster(t)
	site := observe.Object{Group: "example.com", Resource: "sites", Kind: "Site", Namespace: "default", Name: "shop"}
	version := ""
	call := &observe.Called{Verb: "create", Object: site, Status: 201, Began: time.Now(), Client: &observe.Caller{}}
	c.observer.Recorder("kubectl (admin)").Call(call, func() { version = c.store(site, false) })
	c.react("operator/site", observe.Listed, site, version, site.Key(), func(by *observe.Recorder) {
		c.write(by, "create", deployment("shop"), "")
	})
	chain, err := Why(c.catchUp(), deployment("shop"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := writeString(t, chain, Text, Style{})
	if !chain.Complete || !strings.Contains(got, "because it found Site shop when it started. It began when kubectl (admin) created Site shop.") || strings.Contains(got, "Records begin") {
		t.Errorf("complete: %v\n%s", chain.Complete, got)
	}
	tree, err := Build(c.catchUp(), site, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Roots) != 1 || tree.Roots[0].Verb != "create" {
		t.Errorf("%d roots:\n%s", len(tree.Roots), writeString(t, tree, Text, Style{}))
	}
}

// Before a write of a cluster-scoped object, the last event may be of any namespace.
func TestWhySaysInWhichNamespaceTheLastEventWas(t *testing.T) {
	node, at := observe.Object{Resource: "nodes", Kind: "Node", Name: "one"}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "shop", Name: "web"}
	call := &observe.Called{
		Controller: "scaler (admin)", Client: &observe.Caller{}, Verb: "create", Object: node, Status: 201, ResourceVersion: "7",
		Began: at, Took: time.Millisecond, Unexplained: &observe.Received{Time: at.Add(-time.Second), Change: observe.Added, Object: pod},
	}
	chain, err := Why([]observe.Record{{Seq: 1, Time: at.Add(time.Millisecond), Event: call}}, node, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "The last event of another client's change in namespace shop that scaler (admin) had received before, "
	if got := writeString(t, chain, Text, Style{}); !strings.Contains(strings.ReplaceAll(got, "\n", " "), want) {
		t.Errorf("want %q:\n%s", want, got)
	}
}

// A write of a client that watches objects may follow from what it has received: the story is not complete.
func TestWhySaysThatACauseIsNotKnown(t *testing.T) {
	class := observe.Object{Group: "example.com", Resource: "classes", Kind: "Class", Name: "big"}
	site, at := observe.Object{Group: "example.com", Resource: "sites", Kind: "Site", Namespace: "default", Name: "shop"}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, received := range map[string]*observe.Received{
		"": nil,
		"\nThe cause of the last line is not known.\n": {},
		"\nThe cause of the last line is not known. The last event of another client's change in that namespace that shop-operator (admin) had received before, 1.5 s earlier: Site shop updated.\n":        {Time: at.Add(-1500 * time.Millisecond), Change: observe.Updated, Object: site},
		"\nThe cause of the last line is not known. The last event of another client's change in that namespace that shop-watcher (admin) had received before, 1.5 s earlier: Site shop updated.\n":         {Time: at.Add(-1500 * time.Millisecond), Change: observe.Updated, Object: site, Client: "shop-watcher (admin)"},
		"\nThe cause of the last line is not known. The last event of another client's change to a cluster-scoped object that shop-operator (admin) had received before, 1.5 s earlier: Class big added.\n": {Time: at.Add(-1500 * time.Millisecond), Change: observe.Added, Object: class},
	} {
		call := &observe.Called{
			Controller: "shop-operator (admin)", Client: &observe.Caller{}, Verb: "create", Object: deployment("shop"), Status: 201, ResourceVersion: "7",
			Began: at, Took: time.Millisecond, Unexplained: received,
		}
		chain, err := Why([]observe.Record{{Seq: 1, Time: at.Add(time.Millisecond), Event: call}}, deployment("shop"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := writeString(t, chain, Text, Style{})
		if chain.Complete != (received == nil) || !strings.HasSuffix(got, want) || received == nil && strings.Contains(got, "not known") {
			t.Errorf("complete: %v\n%s", chain.Complete, got)
		}
	}
}

// The sync of a write may not be joined to it because of the user agent, or because it is an old one.
func TestWhySaysThatASyncIsNotKnown(t *testing.T) {
	call := &observe.Called{
		Controller: "other (admin)", Client: &observe.Caller{}, Verb: "create", Object: deployment("shop"), Status: 201, ResourceVersion: "7",
		Began: time.Now(), Took: time.Millisecond, UnknownSync: "s/site/4", Unexplained: &observe.Received{Change: observe.Added, Object: pod("a")},
	}
	chain, err := Why([]observe.Record{{Seq: 1, Time: time.Now(), Event: call}}, deployment("shop"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "The cause of the last line is not known: its header Ctrlplane-Sync names the sync s/site/4, and other (admin) has reported no such sync. The process may have stopped reporting, or reports with another user agent or as another user. The last event of another client's change in that namespace that other (admin) had received before, "
	if got := strings.Join(strings.Fields(writeString(t, chain, Text, Style{})), " "); chain.Complete || !strings.Contains(got, want) {
		t.Errorf("complete: %v\n%s", chain.Complete, got)
	}
}

// What a client has found in a list has no version in the records: it was the last one that was stored before, and
// the story begins with who has stored that, unless the client itself has.
func TestWhyGoesOnBeforeAListOfAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const operator = "shop-operator (admin)"
		c := newCluster(t)
		site := observe.Object{Group: "example.com", Resource: "sites", Kind: "Site", Namespace: "default", Name: "shop"}
		services := observe.Object{Resource: "services", Kind: "Service", Namespace: "default"}
		start := func(owned string) string {
			t.Helper()
			time.Sleep(time.Millisecond)
			found := c.watched(operator, observe.Listed, site, "")
			time.Sleep(time.Millisecond)
			c.clientCall(operator, "patch", site, found)
			o := services
			o.Name = owned
			c.clientCall(operator, "create", o, found)
			chain, err := Why(c.catchUp(), o, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(writeString(t, chain, Text, Style{}), "because it found Site shop when it started.") {
				t.Error(writeString(t, chain, Text, Style{}))
			}
			last := chain.Links[len(chain.Links)-1]
			return fmt.Sprintf("%s %s %s", last.Controller, last.Verb, last.Object)
		}
		c.clientCall("kubectl (admin)", "create", site, 0)
		first := start("one")
		again := start("two")
		c.clientCall("kubectl (admin)", "update", site, 0)
		changed := start("three")
		want := []string{"kubectl (admin) create Site default/shop", " list Site default/shop", "kubectl (admin) update Site default/shop"}
		if diff := cmp.Diff(want, []string{first, again, changed}); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// A controller that starts again acts on the state that it finds, not for what has led to that
// and what it has received before.
func TestWhyBeginsWithTheStartOfAController(t *testing.T) {
	c := newCluster(t)
	rs := c.createDeployment("web")
	c.react("replicaset-controller", observe.Added, c.replicaSet("web"), rs, "default/web", func(*observe.Recorder) {})
	c.react("replicaset-controller", observe.Listed, c.replicaSet("web"), rs, "default/web", func(by *observe.Recorder) {
		c.write(by, "create", pod("web-1"), "")
	})
	chain, err := Why(c.catchUp(), pod("web-1"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := writeString(t, chain, Text, Style{})
	if !strings.Contains(got, "because it found ReplicaSet web when it started.") || !strings.HasSuffix(got, "The chain begins with what replicaset-controller found when it started.\n") {
		t.Errorf("got:\n%s", got)
	}
}

// A controller that was stopped while an object was created finds it when it is started again:
// the story goes on with who has created it.
func TestWhyGoesOnBeforeAStop(t *testing.T) {
	c := newCluster(t)
	rs := c.createDeployment("web")
	c.react("garbage-collector-controller", observe.Added, c.replicaSet("web"), rs, "default/web", func(*observe.Recorder) {})
	c.react("replicaset-controller", observe.Listed, c.replicaSet("web"), rs, "default/web", func(by *observe.Recorder) {
		c.write(by, "create", pod("web-1"), "")
	})
	c.checkWhy(pod("web-1"), "Deployment default/web")
	chain, err := Why(c.catchUp(), pod("web-1"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range chain.Links {
		if n.Cause != nil && n.Kind == Event && n.Change == observe.Listed && n.Cause.Certainty != Likely {
			t.Errorf("that the start follows from the write is %s", n.Cause.Certainty)
		}
	}
}
