package trace

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// A key that fails is that of an object if the queue's keys stand for its kind: others may have
// its name.
func TestFailingKeysOfAnObject(t *testing.T) {
	object := func(resource, kind string) observe.Object {
		return observe.Object{Resource: resource, Kind: kind, Namespace: "default", Name: "nil"}
	}
	broker, settings, pod := object("brokers", "Broker"), object("configmaps", "ConfigMap"), object("pods", "Pod")
	queues := func(controller, queue string, about ...observe.Object) (list []observe.Record) {
		for i, o := range about {
			list = append(list, observe.Record{Seq: uint64(i + 1), Time: time.Now(), Event: &observe.Delivered{Controller: controller, Change: observe.Added, Object: o, Queues: []string{queue}}})
		}
		return list
	}
	key := observe.FailingKey{Queue: "broker", Key: "default/nil", KeyBasis: observe.BasisQueue, Error: "no size", Times: 10}
	likely, other := key, key
	likely.KeyBasis, other.Key = observe.BasisTimer, "default/nil-2"
	guess := func(queue string) observe.FailingKey {
		return observe.FailingKey{Queue: queue, Key: key.Key, KeyBasis: observe.BasisEvent}
	}
	for name, tc := range map[string]struct {
		controller string
		key        observe.FailingKey
		records    []observe.Record
		about      observe.Object
		want       bool
	}{
		"the object":                {"broker/broker", key, queues("broker/broker", "broker", broker), broker, true},
		"another name":              {"broker/broker", other, queues("broker/broker", "broker", broker), broker, false},
		"a likely key":              {"broker/broker", likely, queues("broker/broker", "broker", broker), broker, true},
		"a likely key, other kind":  {"broker/broker", likely, queues("broker/broker", "broker", broker), pod, false},
		"the object of an event":    {"operator/main", guess("main"), queues("operator/main", "main", broker), broker, false},
		"of the kind of the queue":  {"operator/main", guess("broker"), queues("operator/main", "broker", broker), broker, true},
		"a user with a slash":       {"operator (https://id/#jane)/broker", guess("main"), nil, broker, true},
		"another kind":              {"broker/broker", key, queues("broker/broker", "broker", broker), pod, false},
		"a child of the same name":  {"broker/broker", key, queues("broker/broker", "broker", broker, settings), broker, true},
		"that child":                {"broker/broker", key, queues("broker/broker", "broker", broker, settings), settings, false},
		"nothing is known":          {"broker/broker", key, nil, broker, true},
		"another name of the queue": {"operator/main", observe.FailingKey{Queue: "main", Key: key.Key, KeyBasis: observe.BasisLog}, queues("operator/main", "main", broker), broker, true},
		"two kinds are possible":    {"operator/main", observe.FailingKey{Queue: "main", Key: key.Key, KeyBasis: observe.BasisLog}, queues("operator/main", "main", broker, settings), broker, false},
	} {
		now := observe.Snapshot{Controllers: []observe.Controller{{Name: tc.controller, Watches: []string{"brokers", "configmaps", "pods"}, Failing: []observe.FailingKey{tc.key}}}}
		found := FailingKeys(now, tc.records, tc.about)
		if got := len(found) == 1 && found[0].Controller.Name == tc.controller && found[0].Key == tc.key.Key; got != tc.want {
			t.Errorf("%s: got %+v", name, found)
		}
	}
}

func TestFailingKeysAreSaid(t *testing.T) {
	f := observe.FailingKey{Key: "default/nil", Times: 10, Error: "no\nsize"}
	for want, key := range map[string]FailingKey{
		"broker/broker fails for default/nil, 10 times in a row: no size.":                        {&observe.Controller{Name: "broker/broker"}, f},
		"broker/broker failed for default/nil before it was stopped, 10 times in a row: no size.": {&observe.Controller{Name: "broker/broker", State: "off"}, f},
		"broker/broker fails for default/nil, once.":                                              {&observe.Controller{Name: "broker/broker"}, observe.FailingKey{Key: "default/nil", Times: 1}},
		"broker/broker fails for default/nil, once, next attempt in 2.0 s.":                       {&observe.Controller{Name: "broker/broker"}, observe.FailingKey{Key: "default/nil", Times: 1, Due: time.Time{}.Add(2 * time.Second)}},
		"hpa likely fails for default/nil, at least 2 times.":                                     {&observe.Controller{Name: "hpa"}, observe.FailingKey{Key: "default/nil", KeyBasis: observe.BasisTimer, Times: 2, AtLeast: true}},
	} {
		chain, err := Why(clientCalls(observe.Called{Verb: "create", Status: 201, ResourceVersion: "7"}), deployment("web"), Options{Failing: []string{key.Sentence(time.Time{})}})
		if err != nil {
			t.Fatal(err)
		}
		if text := writeString(t, chain, Text, Style{}); !strings.Contains(text, want+"\n") {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

// What fails for a Deployment may be the ReplicaSet that was created for it.
func TestFailingKeysOfWhatWasCreatedForAnObject(t *testing.T) {
	set := observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "default", Name: "web-1"}
	records := recorded(
		&observe.Called{Controller: "deployment-controller", Verb: "create", Object: set, Status: 201, Sync: 3},
		&observe.Synced{Controller: "deployment-controller", Queue: "deployment", ID: 3, Key: "default/web", KeyBasis: observe.BasisLog})
	now := observe.Snapshot{Controllers: []observe.Controller{{Name: "replicaset-controller", Failing: []observe.FailingKey{
		{Queue: "replicaset", Key: "default/web-1", KeyBasis: observe.BasisLog, Error: "exceeded quota", Times: 4},
		{Queue: "replicaset", Key: "default/other", KeyBasis: observe.BasisLog, Error: "exceeded quota", Times: 4},
	}}}}
	if found := FailingKeys(now, records, deployment("web")); len(found) != 1 || found[0].Key != "default/web-1" {
		t.Errorf("got %+v", found)
	}
}

// The keys of the garbage collector have no kind, and no event queues them: what it reads first is the object.
func TestFailingKeysOfTheGarbageCollector(t *testing.T) {
	pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "web"}
	set := observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "default", Name: "web"}
	const refused = "admission webhook \"keep.example.com\" denied the request"
	call := func(verb string, o observe.Object, status int) *observe.Called {
		return &observe.Called{Controller: controllernames.GarbageCollector, Verb: verb, Object: o, Status: status, Sync: 3}
	}
	records := recorded(call("get", pod, 200), call("get", set, 404), call("delete", pod, 400), &observe.Synced{
		Controller: controllernames.GarbageCollector, Queue: controllernames.GarbageCollectorQueue, ID: 3, Key: pod.Key(), KeyBasis: observe.BasisLog, Error: refused,
	})
	now := observe.Snapshot{Controllers: []observe.Controller{{Name: controllernames.GarbageCollector, Failing: []observe.FailingKey{
		{Queue: controllernames.GarbageCollectorQueue, Key: pod.Key(), KeyBasis: observe.BasisLog, Error: refused, Times: 14},
	}}}}
	if found := FailingKeys(now, records, pod); len(found) != 1 || found[0].Error != refused {
		t.Errorf("got %+v", found)
	}
	if found := FailingKeys(now, records, set); len(found) != 0 {
		t.Errorf("an owner of the same name: got %+v", found)
	}
	if o, err := FindKey(records, controllernames.GarbageCollector, controllernames.GarbageCollectorQueue, pod.Key()); err != nil || !o.Same(pod) {
		t.Errorf("got %v, %v", o, err)
	}
}

// The Lease of a Node is renewed by its kubelet, for no event. While that fails, the Node is not Ready.
func TestFailingRenewalsOfALease(t *testing.T) {
	failing := observe.FailingKey{Queue: "leases", Key: "kube-node-lease/node-1", KeyBasis: observe.BasisQueue, Error: "refused", Times: 4}
	other := failing
	other.Key = "kube-node-lease/node-2"
	now := observe.Snapshot{Controllers: []observe.Controller{{Name: "simulated-kubelet", Failing: []observe.FailingKey{other, failing}}}}
	lease := observe.Object{Group: "coordination.k8s.io", Resource: "leases", Kind: "Lease", Namespace: "kube-node-lease", Name: "node-1"}
	for _, about := range []observe.Object{lease, {Resource: "nodes", Kind: "Node", Name: "node-1"}} {
		if found := FailingKeys(now, nil, about); len(found) != 1 || found[0].Key != failing.Key {
			t.Errorf("%s: got %+v", about, found)
		}
	}
	for _, about := range []observe.Object{{Group: "example.com", Resource: "nodes", Kind: "Node", Name: "node-1"}, {Resource: "nodes", Kind: "Node", Name: "node-3"}} {
		if found := FailingKeys(now, nil, about); len(found) != 0 {
			t.Errorf("%s: got %+v", about, found)
		}
	}
}

// Of many objects for which a controller fails, each can be explained.
func TestReadFailing(t *testing.T) {
	o := observe.New(observe.Options{})
	defer o.Close()
	for _, name := range []string{"broker/broker", "broker/other"} {
		for i := range 50 {
			o.Recorder(name).ReportedQueue("broker").End(&observe.Synced{Key: fmt.Sprint("default/b", i), KeyBasis: observe.BasisQueue, Error: "no size"}, time.Now())
		}
	}
	for _, name := range []string{"b49", "b7"} { // among the newest, and not
		about := observe.Object{Resource: "brokers", Kind: "Broker", Namespace: "default", Name: name}
		var options Options
		records, err := options.ReadRecords(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := options.ReadFailing(t.Context(), o, records, about); err != nil {
			t.Fatal(err)
		}
		if found := FailingKeys(options.State, records, about); len(found) != 2 || found[0].Key != "default/"+name {
			t.Errorf("%s: got %+v", name, found)
		}
	}
}
