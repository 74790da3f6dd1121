package trace

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// The garbage collector deletes an object whose owner reference has a UID or a name that does not exist: the owner is
// the reason. Records as of a run.
func TestAbsentOwners(t *testing.T) {
	configMap := func(name string) observe.Object {
		return observe.Object{Resource: "configmaps", Kind: "ConfigMap", Namespace: "default", Name: name}
	}
	child, owner := configMap("child"), configMap("parent")
	const changes = "garbage_collector_graph_changes"
	parent := &observe.Delivered{Controller: controllernames.GarbageCollector, Change: observe.Listed, Object: owner, ResourceVersion: "5"}
	namesake := *parent
	namesake.Object = observe.Object{Resource: "secrets", Kind: "Secret", Namespace: "default", Name: "parent"}
	owner.Kind = "" // the garbage collector reads metadata
	call := func(verb string, o observe.Object, status int, sync uint64) *observe.Called {
		return &observe.Called{Controller: controllernames.GarbageCollector, Verb: verb, Object: o, Status: status, Sync: sync}
	}
	deletes := call("delete", child, 200, 4)
	deletes.Wrote = []observe.Written{{Resource: "configmaps", Namespace: "default", Name: "child", ResourceVersion: "9", Deleted: true}}
	created := &observe.Called{Controller: "kubectl", Verb: "create", Object: child, Status: 201, ResourceVersion: "7", Client: &observe.Caller{User: "kubernetes-admin"},
		Wrote: []observe.Written{{Resource: "configmaps", Namespace: "default", Name: "child", ResourceVersion: "7"}}}
	added := &observe.Delivered{Controller: controllernames.GarbageCollector, Change: observe.Added, Object: child, ResourceVersion: "7", Queues: []string{changes}, Adds: []uint64{1}}
	seen := &observe.Synced{Controller: controllernames.GarbageCollector, Queue: changes, ID: 1, Key: "default/child", KeyBasis: observe.BasisEvent, Add: 1, Cause: 2, Sure: true}
	ofOwner := &observe.Synced{Controller: controllernames.GarbageCollector, Queue: controllernames.GarbageCollectorQueue, ID: 2, Key: "default/parent", KeyBasis: observe.BasisLog, Add: 1, CauseSync: 1, Sure: true}
	removed := &observe.Synced{Controller: controllernames.GarbageCollector, Queue: changes, ID: 3, Add: 2, CauseSync: 2, Sure: true}
	ofChild := &observe.Synced{Controller: controllernames.GarbageCollector, Queue: controllernames.GarbageCollectorQueue, ID: 4, Key: "default/child", KeyBasis: observe.BasisLog, Add: 2, CauseSync: 3, Sure: true}
	atOnce := *ofChild
	atOnce.CauseSync = 1
	elsewhere := &observe.Logged{Controller: controllernames.GarbageCollector, Level: -2, Message: otherNamespace, Sync: 1, Attrs: []observe.Attr{{Key: "item", Value: "default/child"}, {Key: "owner", Value: "ConfigMap shop/parent"}}}
	other := &observe.Delivered{Controller: controllernames.GarbageCollector, Change: observe.Deleted, Object: configMap("other"), Queues: []string{changes}, Adds: []uint64{2}}
	ofOther := &observe.Synced{Controller: controllernames.GarbageCollector, Queue: changes, ID: 3, Key: "default/other", KeyBasis: observe.BasisEvent, Add: 2, Cause: 4, Sure: true}
	for name, c := range map[string]struct {
		events []observe.Event
		want   string
	}{
		"wrong UID":   {[]observe.Event{ofOwner, removed, parent, deletes, ofChild}, "because its owner ConfigMap parent did not exist with the UID of its owner reference."},
		"or another":  {[]observe.Event{ofOwner, removed, parent, &namesake, deletes, ofChild}, "because its owner parent did not exist with the UID of its owner reference."},
		"no owner":    {[]observe.Event{call("get", owner, 404, 2), ofOwner, removed, parent, deletes, ofChild}, "because its owner ConfigMap parent did not exist."},
		"wrong kind":  {[]observe.Event{parent, call("get", owner, 404, 4), deletes, &atOnce}, "because its owner ConfigMap parent did not exist."},
		"elsewhere":   {[]observe.Event{elsewhere, call("get", owner, 404, 4), deletes, &atOnce, parent}, "because its owner ConfigMap parent did not exist in its namespace: ConfigMap shop/parent has the UID of its owner reference."},
		"other news":  {[]observe.Event{other, ofOther, call("get", owner, 404, 4), deletes, ofChild}, "because ConfigMap other was deleted."},
		"not certain": {[]observe.Event{deletes, &atOnce}, "because ConfigMap child was added."},
	} {
		records := recorded(append([]observe.Event{created, added, seen}, c.events...)...)
		chain, err := Why(records, child, Options{What: Deleted})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(strings.Fields(writeString(t, chain, Text, Style{})), " ")
		if want := controllernames.GarbageCollector + " deleted ConfigMap child " + c.want; !strings.Contains(got, want) {
			t.Errorf("%s: want %q in\n%s", name, want, got)
		}
	}
}
