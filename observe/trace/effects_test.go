package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// recorded makes records of events that follow each other by a millisecond.
func recorded(events ...observe.Event) (list []observe.Record) {
	for i, e := range events {
		list = append(list, observe.Record{Seq: uint64(i + 1), Time: time.Unix(1000, int64(i)*int64(time.Millisecond)), Event: e})
	}
	return list
}

// wrote is an answered write of a Pod, with the versions that the storage reports.
func wrote(controller, verb, answer string, versions ...observe.Written) *observe.Called {
	for i := range versions {
		versions[i].Resource, versions[i].Namespace, versions[i].Name = "pods", "default", "p"
	}
	return &observe.Called{Controller: controller, Verb: verb, Object: pod("p"), Status: 200, Took: time.Microsecond, ResourceVersion: answer, Wrote: versions, Client: &observe.Caller{User: controller}}
}

func textOf(t *testing.T, records []observe.Record, o Options) string {
	t.Helper()
	tree, err := Build(records, pod("p"), o)
	if err != nil {
		t.Fatal(err)
	}
	return writeString(t, tree, Text, Style{})
}

// A Pod that was marked as deleted still exists, also if it has left the selection of a controller,
// such as the scheduler, which sees that as a deletion with the version it has seen before.
func TestDeletedObjectsAreCountedOnce(t *testing.T) {
	seen := func(change observe.Change, version string) *observe.Delivered {
		return &observe.Delivered{Controller: "kube-scheduler", Change: change, Object: pod("p"), ResourceVersion: version, Deleting: true}
	}
	marks := wrote("b", "delete", "2", observe.Written{ResourceVersion: "2"})
	removes := wrote("c", "delete", "3", observe.Written{ResourceVersion: "4", Deleted: true})
	records := recorded(wrote("a", "create", "1", observe.Written{ResourceVersion: "1"}), marks, seen(observe.Updated, "2"), seen(observe.Deleted, "2"), removes)
	g := newGraph(records, pod("p"), Options{})
	e := newEffects(phrases{})
	for _, n := range g.calls {
		e.add(n)
	}
	if e.deleted["Pod"] != 1 || g.calls[1].Gone || !g.calls[1].Marked || !g.calls[2].Gone {
		t.Errorf("%d Pods were deleted, want 1; the delete that marks: %+v", e.deleted["Pod"], g.calls[1])
	}
}

// Calls that failed have written nothing.
func TestFailedCallsAreNoWrites(t *testing.T) {
	failed := &Node{Kind: Call, Controller: "c", Verb: "create", Object: &observe.Object{Kind: "Pod"}, Status: 403, Failed: true}
	made := &Node{Kind: Call, Controller: "c", Verb: "create", Object: &observe.Object{Kind: "Pod", Name: "p"}, Status: 201}
	for want, nodes := range map[string][]*Node{
		"; 1 controller answered with 1 write: created 1 Pod; 2 failed calls": {made, failed, failed},
		"; 1 controller answered with 2 failed calls":                         {failed, failed},
		"": nil,
	} {
		e := newEffects(phrases{})
		for _, n := range nodes {
			e.add(n)
		}
		if got := e.describe(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The delete of a collection counts the objects that it has removed; without reports of the storage, it names their kind.
func TestDeletedCollectionsAreCounted(t *testing.T) {
	collection := func(kind, resource string, n Node) *Node {
		n.Kind, n.Controller, n.Verb, n.Status = Call, "c", "deletecollection", 200
		n.Object = &observe.Object{Kind: kind, Resource: resource, Namespace: "gone"}
		return &n
	}
	in := func(resource, name string, deleted bool) observe.Written {
		return observe.Written{Resource: resource, Namespace: "gone", Name: name, Deleted: deleted}
	}
	secrets := collection("Secret", "secrets", Node{wrote: []observe.Written{in("secrets", "a", true), in("secrets", "b", true), in("configmaps", "other", true)}})
	pods := collection("Pod", "pods", Node{wrote: []observe.Written{in("pods", "a", false)}, Watchers: 1})
	for want, nodes := range map[string][]*Node{
		"; 1 controller answered with 2 writes: deleted 2 Secrets": {secrets, pods},
		"; 1 controller answered with 3 writes: deleted every ConfigMap, Pod": {
			collection("Pod", "pods", Node{Watchers: 1}), collection("ConfigMap", "configmaps", Node{Watchers: 2}), collection("Pod", "pods", Node{Watchers: 1})},
		"; 1 controller answered with 2 writes": {collection("Pod", "pods", Node{}), collection("Pod", "pods", Node{Watchers: 1, Selected: true})},
	} {
		e := newEffects(phrases{})
		for _, n := range nodes {
			e.add(n)
		}
		if got := e.describe(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A write that was answered with the version that was stored before has changed nothing.
func TestWritesWithoutChange(t *testing.T) {
	reported := recorded(
		wrote("a", "create", "1", observe.Written{ResourceVersion: "1"}),
		wrote("b", "update", "2", observe.Written{ResourceVersion: "2"}),
		wrote("b", "update", "2"), wrote("b", "patch", "2"),
		wrote("b", "patch", "2", observe.Written{ResourceVersion: "3", Deleted: true}))
	unreported := recorded(wrote("a", "create", "1"), wrote("b", "update", "2"), wrote("b", "update", "2"), wrote("b", "patch", "2"))
	for name, records := range map[string][]observe.Record{"reported": reported, "unreported": unreported} {
		text := textOf(t, records, Options{})
		if strings.Count(text, "b updated") != 1 || !strings.Contains(text, "Not shown, because they changed nothing: 2 writes\n") || strings.Contains(text, "b patched") != (name == "reported") {
			t.Errorf("%s:\n%s", name, text)
		}
		all := textOf(t, records, Options{All: true})
		if strings.Count(all, ", which changed nothing") != 2 || strings.Contains(all, "Not shown") {
			t.Errorf("%s, with All:\n%s", name, all)
		}
		if want := ", followed by " + map[string]string{"reported": "2 more changes.", "unreported": "1 more change."}[name]; !strings.Contains(text, want) || !strings.Contains(all, want) {
			t.Errorf("%s: want %q in\n%s\n%s", name, want, text, all)
		}
	}
}

// An event of a custom resource without its kind gets that of other records.
func TestKindsOfEvents(t *testing.T) {
	broker := observe.Object{Group: "example.com", Resource: "brokers", Namespace: "default", Name: "b"}
	named := broker
	named.Kind = "Broker"
	g := newGraph(recorded(&observe.Called{Controller: "a", Verb: "create", Object: named, Status: 201, ResourceVersion: "1"},
		&observe.Delivered{Controller: "c", Change: observe.Deleted, Object: broker, ResourceVersion: "2"}), broker, Options{})
	if got := (phrases{home: "default"}).describeTrigger(g.events[0]); got != "Broker b was deleted" {
		t.Errorf("%q", got)
	}
}
