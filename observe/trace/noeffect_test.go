package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A write without an effect is answered with the version that an earlier write has stored. It is
// not the last change, and it says that it changed nothing.
func TestWhySkipsWritesWithoutAnEffect(t *testing.T) {
	wrote := func(version string) []observe.Written {
		return []observe.Written{{Resource: "deployments.apps", Namespace: "default", Name: "web", ResourceVersion: version}}
	}
	for name, reported := range map[string]bool{"storage reports": true, "older records": false} {
		t.Run(name, func(t *testing.T) {
			calls := []observe.Called{
				{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: wrote("7")},
				{Verb: "patch", ResourceVersion: "8", Wrote: wrote("8")},
				{Verb: "update", Subresource: "status", ResourceVersion: "8"},
			}
			for i := range calls {
				if !reported {
					calls[i].Wrote = nil
				}
			}
			records := clientCalls(calls...)
			chain, err := Why(records, deployment("web"), Options{What: Changed})
			if err != nil {
				t.Fatal(err)
			}
			if got := chain.Links[0]; got.Verb != "patch" {
				t.Errorf("the last change is %s\n%s", labelOf(got), writeString(t, chain, Text, Style{}))
			}
			tree, err := Build(records, deployment("web"), Options{All: true})
			if err != nil {
				t.Fatal(err)
			}
			const want = "updated Deployment web status (version 8) in 1.0 ms, which changed nothing"
			if text := writeString(t, tree, Text, Style{}); !strings.Contains(text, want) || strings.Count(text, "changed nothing") != 1 {
				t.Errorf("not once %q in:\n%s", want, text)
			}
		})
	}
}

// A delete, and an update that removes the last finalizer, may be answered with the version before.
func TestRemovalsHaveAnEffect(t *testing.T) {
	records := clientCalls(
		observe.Called{Verb: "create", Status: 201, ResourceVersion: "7"},
		observe.Called{Verb: "update", ResourceVersion: "7"},
	)
	gone := &observe.Delivered{Controller: "deployment-controller", Change: observe.Deleted, Object: deployment("web"), ResourceVersion: "9"}
	records = append(records, observe.Record{Seq: 3, Time: records[1].Time, Event: gone})
	chain, err := Why(records, deployment("web"), Options{What: Deleted})
	if err != nil {
		t.Fatal(err)
	}
	if got := chain.Links[0]; got.Verb != "update" {
		t.Errorf("it was removed by %s", labelOf(got))
	}
}

// With an etcd cluster of the user's only a restore says what it has written.
func TestWritesAfterARestoreIntoAClusterHaveAnEffect(t *testing.T) {
	restored := []observe.Written{{Resource: "deployments.apps", Namespace: "default", Name: "web", ResourceVersion: "8"}}
	records := clientCalls(
		observe.Called{Verb: observe.VerbRestore, Status: 200, ResourceVersion: "8", Wrote: restored},
		observe.Called{Verb: "patch", ResourceVersion: "9"},
	)
	chain, err := Why(records, deployment("web"), Options{What: Changed})
	if err != nil {
		t.Fatal(err)
	}
	if got := chain.Links[0]; got.Verb != "patch" {
		t.Errorf("the last change is %s", labelOf(got))
	}
}

// What an aggregated API server writes, the storage does not report. The creation of the object need not
// be recorded.
func TestWritesToAnAggregatedAPIHaveAnEffect(t *testing.T) {
	flunder := observe.Object{Group: "wardle.example.com", Resource: "flunders", Kind: "Flunder", Namespace: "default", Name: "x"}
	wrote := []observe.Written{{Resource: "deployments.apps", Namespace: "default", Name: "web", ResourceVersion: "7"}}
	records := clientCalls(
		observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: wrote},
		observe.Called{Verb: "patch", ResourceVersion: "3", Aggregated: true},
		observe.Called{Verb: "patch", ResourceVersion: "3", Aggregated: true},
		observe.Called{Verb: "patch", ResourceVersion: "4", Aggregated: true},
	)
	for _, r := range records[1:] {
		r.Event.(*observe.Called).Object = flunder
	}
	g := newGraph(records, flunder, Options{})
	for i, want := range []bool{false, false, true, false} {
		if got := g.calls[i].noEffect; got != want {
			t.Errorf("call %d: no effect is %v, want %v", i, got, want)
		}
	}
}

// A controller that watches a kind of an aggregated API, as the garbage collector does, receives versions of which the
// storage reports nothing: their writes are found as with storage that reports nothing.
func TestDeliveredObjectsOfAnAggregatedAPI(t *testing.T) {
	flunder := observe.Object{Group: "wardle.example.com", Resource: "flunders", Kind: "Flunder", Namespace: "default", Name: "x"}
	wrote := []observe.Written{{Resource: "deployments.apps", Namespace: "default", Name: "web", ResourceVersion: "7"}}
	records := clientCalls(
		observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: wrote},
		observe.Called{Verb: "create", Status: 201, ResourceVersion: "3", Aggregated: true},
		observe.Called{Verb: "patch", ResourceVersion: "4", Aggregated: true},
		observe.Called{Verb: "delete", Aggregated: true},
	)
	for i, e := range []observe.Delivered{{Change: observe.Added, ResourceVersion: "3"}, {Change: observe.Updated, ResourceVersion: "4"}, {Change: observe.Deleted, ResourceVersion: "5"}} {
		call := records[i+1]
		call.Event.(*observe.Called).Object = flunder
		e.Controller, e.Object = "garbage-collector-controller", flunder
		records = append(records, observe.Record{Seq: uint64(10 + i), Time: call.Time.Add(time.Millisecond), Event: &e})
	}
	for what, want := range map[What]string{"": "kubectl (admin) created Flunder x.", Changed: "kubectl (admin) patched Flunder x.", Deleted: "kubectl (admin) deleted Flunder x."} {
		chain, err := Why(records, flunder, Options{What: what})
		if err != nil {
			t.Fatal(err)
		}
		checkSays(t, chain, []string{want}, "unrecorded client")
	}
	tree, err := Build(records, flunder, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := writeString(t, tree, Text, Style{}); len(tree.Roots) != 3 || strings.Contains(text, "unrecorded") {
		t.Errorf("%d roots:\n%s", len(tree.Roots), text)
	}
}
