package ctrlplane

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Of what was marked as deleted, only what no later record says to be gone may wait for a finalizer.
func TestFinalizingObjects(t *testing.T) {
	began := time.Now()
	var records []observe.Record
	call := func(verb string, wrote ...observe.Written) {
		records = append(records, observe.Record{Time: began.Add(time.Duration(len(records)) * time.Second), Event: &observe.Called{Verb: verb, Status: 200, Wrote: wrote}})
	}
	written := func(name string, deleted bool) observe.Written {
		return observe.Written{Resource: "shops.example.com", Namespace: "ns", Name: name, Deleted: deleted}
	}
	call("delete", written("stuck", false))
	call("delete", written("finalized", false))
	call("update", written("finalized", true))
	call("create", written("finalized", false))
	call("deletecollection", written("one", false), written("two", true), written("three", false))
	for range 2 * maxDeleted {
		call("delete", written("gone", true))
	}
	call("delete", written("stuck", false))
	call("update", written("stuck", false))
	last := records[len(records)-1].Time
	call("delete", written("just now", false))
	for _, name := range []string{"unreported", "unreported and gone"} {
		records = append(records, observe.Record{Time: began, Event: &observe.Called{Verb: "delete", Status: 200, Object: observe.Object{Group: "example.com", Resource: "shops", Namespace: "ns", Name: name}}})
	}
	var names []string
	isGone := func(o observe.Object) bool { return o.Name != "unreported" } // of others, the storage reports what is gone
	for _, o := range finalizingObjects(records, last, isGone) {
		if o.GroupResource() != "shops.example.com" || o.Namespace != "ns" {
			t.Errorf("got %+v", o)
		}
		names = append(names, o.Name)
	}
	if diff := cmp.Diff([]string{"unreported", "stuck", "one", "three"}, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Thousands of deleted objects are looked up with one query of the events that controllers have received.
func TestSawDeletion(t *testing.T) {
	o := observe.New(observe.Options{})
	defer o.Close()
	deliver := func(name string, change observe.Change) {
		o.Append(&observe.Delivered{Controller: "c", Change: change, Object: observe.Object{Group: "example.com", Resource: "shops", Kind: "Shop", UID: "u", Namespace: "ns", Name: name}, ResourceVersion: "1"})
	}
	deliver("gone", observe.Added)
	deliver("gone", observe.Deleted)
	deliver("again", observe.Deleted)
	deliver("again", observe.Added)
	deliver("stuck", observe.Updated)
	isGone := (&controlPlane{observer: o}).sawDeletion(t.Context())
	for range 2 {
		for name, want := range map[string]bool{"gone": true, "again": false, "stuck": false, "unknown": false} {
			if got := isGone(observe.Object{Group: "example.com", Resource: "shops", Namespace: "ns", Name: name}); got != want {
				t.Errorf("%s: got %v", name, got)
			}
		}
		deliver("stuck", observe.Deleted) // the events are read once
	}
}

// Operators warn of custom resources again and again; what controllers of Kubernetes warn of is among the problems.
func TestWarnedObjects(t *testing.T) {
	var records []observe.Record
	warn := func(kind, group, name string, change func(*observe.Called)) {
		c := &observe.Called{Verb: "create", Status: 201, Object: observe.Object{Resource: "events", Name: name + ".1"},
			Event: &observe.KubernetesEvent{Type: "Warning", Regarding: observe.Object{Kind: kind, Group: group, Resource: "guessed", Namespace: "ns", Name: name, UID: fmt.Sprint(len(records))}}}
		if change != nil {
			change(c)
		}
		records = append(records, observe.Record{Event: c})
	}
	warn("Widget", "example.com", "first", nil)
	warn("Widget", "example.com", "last", nil)
	warn("Widget", "example.com", "last", nil)
	warn("Pod", "", "pod", nil)
	warn("Widget", "example.com", "normal", func(c *observe.Called) { c.Event.Type = "Normal" })
	warn("Widget", "example.com", "failed", func(c *observe.Called) { c.Status = 403 })
	warn("Widget", "example.com", "tried", func(c *observe.Called) { c.DryRun = true })
	want := []observe.Object{{Kind: "Widget", Group: "example.com", Namespace: "ns", Name: "last"}, {Kind: "Widget", Group: "example.com", Namespace: "ns", Name: "first"}}
	if diff := cmp.Diff(want, warnedObjects(records)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i := range 2 * maxWarned {
		warn("Widget", "example.com", fmt.Sprint(i), nil)
	}
	if n := len(warnedObjects(records)); n != maxWarned {
		t.Errorf("%d objects, want %d", n, maxWarned)
	}
}

// Of what clients have created, only what has an owner that the garbage collector tries to look up again may have one of an unknown kind.
func TestUnresolvedDependents(t *testing.T) {
	var syncs, calls []observe.Record
	sync := func(queue, key string, retried bool) {
		syncs = append(syncs, observe.Record{Event: &observe.Synced{Controller: controllernames.GarbageCollector, Queue: queue, Key: key, Retried: retried}})
	}
	create := func(name, owner string, change func(*observe.Called)) {
		c := &observe.Called{Verb: "create", Status: 201, Object: observe.Object{Resource: "configmaps", Namespace: "ns", Name: name}}
		if owner != "" {
			c.Owner = &observe.Object{Kind: "Widget", Name: owner}
		}
		if change != nil {
			change(c)
		}
		calls = append(calls, observe.Record{Event: c})
	}
	sync(controllernames.GarbageCollectorQueue, "ns/unknown", false)
	sync(controllernames.GarbageCollectorQueue, "ns/unknown", true)
	sync(controllernames.GarbageCollectorQueue, "ns/found", true)
	sync(controllernames.GarbageCollectorQueue, "ns/found", false)
	sync(controllernames.GarbageCollectorQueue, "other/elsewhere", true)
	sync(controllernames.GarbageCollectorQueue, "cluster-wide", true)
	sync("garbage_collector_graph_changes", "ns/changed", true)
	create("a", "unknown", nil)
	create("a", "unknown", nil)
	create("b", "found", nil)
	create("c", "elsewhere", nil)
	create("d", "cluster-wide", nil)
	create("e", "changed", nil)
	create("f", "", nil)
	create("g", "unknown", func(c *observe.Called) { c.DryRun = true })
	create("h", "unknown", func(c *observe.Called) { c.Status = 409 })
	var names []string
	for _, o := range unresolvedDependents(syncs, calls) {
		if o.GroupResource() != "configmaps" || o.Namespace != "ns" {
			t.Errorf("got %+v", o)
		}
		names = append(names, o.Name)
	}
	if diff := cmp.Diff([]string{"d", "a"}, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i := range 2 * maxDependents {
		create(fmt.Sprint("many-", i), "unknown", nil)
	}
	if got := len(unresolvedDependents(syncs, calls)); got != maxDependents {
		t.Errorf("got %d", got)
	}
}
