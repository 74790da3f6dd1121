package trace

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// noExecute is the queue to which taint-eviction-controller adds a node with other taints that evict.
const noExecute = "noexec_taint_node"

// appendLater appends an event some time after the last one.
func appendLater(records []observe.Record, after time.Duration, e observe.Event) []observe.Record {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	if n := len(records); n > 0 {
		at = records[n-1].Time
	}
	at = at.Add(after)
	if c, ok := e.(*observe.Called); ok {
		c.Began = at
	}
	return append(records, observe.Record{Seq: uint64(len(records) + 1), Time: at, Event: e})
}

// A user makes a node fail: node-lifecycle-controller marks it for that, though a timer says when.
// Another node is marked for another reason.
func TestNodeFailureFollowsFromTheUser(t *testing.T) {
	o := observe.New(observe.Options{})
	defer o.Close()
	lifecycle := o.Recorder(controllernames.NodeLifecycle)
	now := time.Now()
	node := func(name, uid string) observe.Object {
		return observe.Object{Resource: "nodes", Kind: "Node", Name: name, UID: uid}
	}
	mark := func(name, version string) {
		wrote := []observe.Written{{Resource: "nodes", Name: name, ResourceVersion: version}}
		lifecycle.RecordCall(&observe.Called{Verb: "update", Subresource: "status", Object: node(name, ""), Status: 200, ResourceVersion: version, Began: time.Now(), Wrote: wrote})
	}
	for i, name := range []string{"n1", "n2"} {
		call := &observe.Called{Verb: "patch", Object: node(name, ""), Status: 200, ResourceVersion: "1" + name[1:], Began: now}
		call.Wrote = []observe.Written{{Resource: "nodes", Name: name, ResourceVersion: call.ResourceVersion}}
		if i == 0 {
			call.Controller, call.Client = observe.Own, &observe.Caller{}
		}
		o.Recorder("simulated-kubelet").RecordCall(call)
		lifecycle.Deliver(&observe.Delivered{Change: observe.Updated, Object: node(name, "u"), ResourceVersion: call.ResourceVersion}, func() {})
	}
	mark("n1", "21")
	mark("n2", "22")
	page, err := o.Records(t.Context(), observe.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"n1": observe.Own, "n2": controllernames.NodeLifecycle} {
		chain, err := Why(page.Records, node(name, ""), Options{What: Changed})
		if err != nil {
			t.Fatal(err)
		}
		if first := chain.Links[len(chain.Links)-1]; first.Controller != want || chain.Complete != (name == "n1") {
			t.Errorf("%s was marked because of %s of %s", name, first.Verb, first.Controller)
		}
		text := writeString(t, chain, Text, Style{})
		// It may have sent some since it failed: it can have recovered, and be silent for another reason.
		if note := "no heartbeat of " + name + " had arrived for the grace period\n"; strings.Count(text, "heartbeat") != 1 || !strings.Contains(text, note) {
			t.Errorf("why %s was marked:\n%s", name, text)
		}
	}
}

// node-lifecycle-controller takes its taint away some seconds after the kubelet has reported that it is ready.
func TestTaintThatIsTakenAway(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	node := observe.Object{Resource: "nodes", Kind: "Node", Name: "n1"}
	var records []observe.Record
	add := func(after time.Duration, e observe.Event) {
		at = at.Add(after)
		if c, ok := e.(*observe.Called); ok {
			c.Began = at
			c.Wrote = []observe.Written{{Resource: "nodes", Name: "n1", ResourceVersion: c.ResourceVersion}}
		}
		records = append(records, observe.Record{Seq: uint64(len(records) + 1), Time: at, Event: e})
	}
	add(0, &observe.Called{Controller: "simulated-kubelet", Verb: "patch", Subresource: "status", Object: node, Status: 200, ResourceVersion: "5"})
	add(time.Millisecond, &observe.Delivered{Controller: controllernames.NodeLifecycle, Change: observe.Updated, Object: node, ResourceVersion: "5"})
	add(5*time.Second, &observe.Called{Controller: controllernames.NodeLifecycle, Verb: "patch", Object: node, Status: 200, ResourceVersion: "6"})
	chain, err := Why(records, node, Options{What: Changed})
	if err != nil {
		t.Fatal(err)
	}
	if first := chain.Links[len(chain.Links)-1]; len(chain.Links) != 3 || first.Controller != "simulated-kubelet" || chain.Links[0].Cause.Certainty != Likely {
		t.Errorf("the first cause is %s of %s", labelOf(first), first.Controller)
	}
}

// A Pod of a StatefulSet is created again under the same name, on another node: why the first one was evicted
// is still known.
func TestEvictionOfARecreatedPod(t *testing.T) {
	var records []observe.Record
	add := func(e observe.Event) { records = appendLater(records, time.Second, e) }
	node, web := observe.Object{Resource: "nodes", Kind: "Node", Name: "n1"}, pod("web-0")
	bind := func(to string) {
		add(&observe.Called{Controller: "kube-scheduler", Verb: "create", Subresource: "binding", Object: web, Status: 201, BoundTo: to})
	}
	bind("n1")
	add(&observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "patch", Object: node, Status: 200, ResourceVersion: "5",
		Wrote: []observe.Written{{Resource: "nodes", Name: "n1", ResourceVersion: "5"}}})
	add(&observe.Delivered{Controller: controllernames.TaintEviction, Change: observe.Updated, Object: node, ResourceVersion: "5", Queues: []string{noExecute}, Adds: []uint64{1}})
	add(&observe.Called{Controller: controllernames.TaintEviction, Verb: "delete", Object: web, Status: 200, Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: "web-0", ResourceVersion: "6", Deleted: true}}})
	add(&observe.Called{Controller: "statefulset-controller", Verb: "create", Object: web, Status: 201, ResourceVersion: "7",
		Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: "web-0", ResourceVersion: "7"}}})
	bind("n2")
	chain, err := Why(records, web, Options{What: Deleted})
	if err != nil {
		t.Fatal(err)
	}
	if first := chain.Links[len(chain.Links)-1]; first.Controller != "kubectl (admin)" {
		t.Errorf("the first cause is %s of %s", labelOf(first), first.Controller)
	}
}

// A Pod that tolerates a taint for a time is evicted that long after it was bound, if its node had the taint before. A
// change of the node that adds no taint that evicts, as of cordon, is not the cause.
func TestEvictionFromANodeThatWasTaintedBefore(t *testing.T) {
	node, web := observe.Object{Resource: "nodes", Kind: "Node", Name: "n1"}, pod("web-0")
	for name, tc := range map[string]struct {
		then     []string // changes of the node after the binding: the queues to which the controller adds a key
		by, verb string
		bound    bool
	}{
		"bound":                  {nil, "kube-scheduler", "create", true},
		"tainted then":           {[]string{noExecute}, "kubectl (admin)", "patch", false},
		"cordoned then":          {[]string{""}, "kube-scheduler", "create", true},
		"tainted, then cordoned": {[]string{noExecute, ""}, "kubectl (admin)", "patch", false},
	} {
		var records []observe.Record
		add := func(e observe.Event) { records = appendLater(records, time.Second, e) }
		change := func(version, queue string) {
			add(&observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "patch", Object: node, Status: 200, ResourceVersion: version,
				Wrote: []observe.Written{{Resource: "nodes", Name: "n1", ResourceVersion: version}}})
			event := &observe.Delivered{Controller: controllernames.TaintEviction, Change: observe.Updated, Object: node, ResourceVersion: version}
			if queue != "" {
				event.Queues, event.Adds = []string{queue}, []uint64{uint64(len(records))}
			}
			add(event)
		}
		change("5", noExecute)
		add(&observe.Called{Controller: "kube-scheduler", Verb: "create", Subresource: "binding", Object: web, Status: 201, BoundTo: "n1",
			Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: "web-0", ResourceVersion: "6"}}})
		add(&observe.Delivered{Controller: controllernames.TaintEviction, Change: observe.Updated, Object: web, ResourceVersion: "6"})
		for i, queue := range tc.then {
			change(strconv.Itoa(7+i), queue)
		}
		add(&observe.Called{Controller: controllernames.TaintEviction, Verb: "delete", Object: web, Status: 200, Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: "web-0", ResourceVersion: "19", Deleted: true}}})
		chain, err := Why(records, web, Options{What: Deleted})
		if err != nil {
			t.Fatal(err)
		}
		if first := chain.Links[len(chain.Links)-1]; first.ResourceVersion == "8" || first.Controller != tc.by || first.Verb != tc.verb {
			t.Errorf("%s: the first cause is %s of %s:\n%s", name, labelOf(first), first.Controller, writeString(t, chain, Text, Style{}))
		}
		if text := writeString(t, chain, Text, Style{}); strings.Contains(text, "likely because Pod web-0 was bound to n1") != tc.bound {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// A Pod whose binding is not recorded, nor a node that it was created with: its eviction follows from a change of a node
// only if the records name one node.
func TestEvictionOfAPodWithoutABinding(t *testing.T) {
	kubectl := "kubectl (admin)"
	for name, tc := range map[string]struct {
		nodes   []string // in the order of their changes
		other   observe.Object
		created string // with which node
		want    string
	}{
		"one node":                    {[]string{"n1", "n1"}, observe.Object{}, "", kubectl},
		"two are changed":             {[]string{"n1", "n2"}, observe.Object{}, "", controllernames.TaintEviction},
		"another one is there":        {[]string{"n2"}, observe.Object{Resource: "nodes", Kind: "Node", Name: "n1"}, "", controllernames.TaintEviction},
		"another one has a heartbeat": {[]string{"n2"}, observe.Object{Resource: "leases", Kind: "Lease", Namespace: "kube-node-lease", Name: "n1"}, "", controllernames.TaintEviction},
		"created with a node":         {[]string{"n1", "n2"}, observe.Object{}, "n1", kubectl},
	} {
		t.Run(name, func(t *testing.T) {
			var records []observe.Record
			add := func(e observe.Event) { records = appendLater(records, time.Second, e) }
			if tc.created != "" {
				add(&observe.Called{Controller: kubectl, Client: &observe.Caller{}, Verb: "create", Object: pod("web-0"), Status: 201, BoundTo: tc.created,
					Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: "web-0", ResourceVersion: "3"}}})
			}
			if tc.other.Name != "" {
				add(&observe.Called{Controller: kubectl, Client: &observe.Caller{}, Verb: "update", Object: tc.other, Status: 200, ResourceVersion: "4",
					Wrote: []observe.Written{{Resource: tc.other.Resource, Namespace: tc.other.Namespace, Name: tc.other.Name, ResourceVersion: "4"}}})
			}
			for i, name := range tc.nodes {
				node, version := observe.Object{Resource: "nodes", Kind: "Node", Name: name}, strconv.Itoa(i+5)
				add(&observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "patch", Object: node, Status: 200, ResourceVersion: version,
					Wrote: []observe.Written{{Resource: "nodes", Name: name, ResourceVersion: version}}})
				add(&observe.Delivered{Controller: controllernames.TaintEviction, Change: observe.Updated, Object: node, ResourceVersion: version, Queues: []string{noExecute}, Adds: []uint64{1}})
			}
			add(&observe.Called{Controller: controllernames.TaintEviction, Verb: "delete", Object: pod("web-0"), Status: 200, Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: "web-0", ResourceVersion: "9", Deleted: true}}})
			chain, err := Why(records, pod("web-0"), Options{What: Deleted})
			if err != nil {
				t.Fatal(err)
			}
			if first := chain.Links[len(chain.Links)-1]; first.Controller != tc.want {
				t.Errorf("the first cause is %s of %s", labelOf(first), first.Controller)
			}
		})
	}
}

// The order of lines can be read from their times.
func TestOffsetsShowMilliseconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 µs", 999 * time.Millisecond: "999 ms", 2125*time.Millisecond + 900*time.Microsecond: "2.125 s",
		time.Minute + 3*time.Second + 7*time.Millisecond: "1m03.007s", 59*time.Minute + 59999*time.Millisecond: "59m59.999s",
		3*time.Hour + 62*time.Second: "3h01m02s",
	} {
		if got := (phrases{}).formatOffset(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// The Pods of a node that was deleted are deleted later, without an event; those of one that exists, for another reason.
func TestPodsOfADeletedNode(t *testing.T) {
	for name, deletes := range map[string]bool{"deleted": true, "kept": false} {
		at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
		var records []observe.Record
		add := func(c *observe.Called) {
			at = at.Add(time.Second)
			c.Began, c.Took = at, time.Millisecond
			records = append(records, observe.Record{Seq: uint64(len(records) + 1), Time: at.Add(c.Took), Event: c})
		}
		pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "web", UID: "u"}
		wrote := func(version string, deleted bool) []observe.Written {
			return []observe.Written{{Resource: "pods", Namespace: "default", Name: "web", ResourceVersion: version, Deleted: deleted}}
		}
		add(&observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "create", Status: 201, Object: pod, ResourceVersion: "1", Wrote: wrote("1", false)})
		add(&observe.Called{Controller: "kube-scheduler", Verb: "create", Subresource: "binding", Status: 201, Object: pod, BoundTo: "n1", ResourceVersion: "2", Wrote: wrote("2", false)})
		if deletes {
			add(&observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "delete", Status: 200, Object: observe.Object{Resource: "nodes", Kind: "Node", Name: "n1"},
				Wrote: []observe.Written{{Resource: "nodes", Name: "n1", ResourceVersion: "3", Deleted: true}}})
		}
		add(&observe.Called{Controller: controllernames.PodGarbageCollector, Verb: "delete", Status: 200, Object: pod, Wrote: wrote("4", true)})
		chain, err := Why(records, pod, Options{What: Deleted})
		if err != nil {
			t.Fatal(err)
		}
		text := writeString(t, chain, Text, Style{})
		if strings.Contains(text, "kubectl (admin) deleted Node n1") != deletes || strings.Contains(text, "is not in the records") == deletes {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// A Pod whose node does not exist is deleted for that: the log of the controller says which node it is. The node may have been
// deleted, or never have existed.
func TestOrphanedPods(t *testing.T) {
	web := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "web", UID: "u"}
	wrote := func(version string, deleted bool) []observe.Written {
		return []observe.Written{{Resource: "pods", Namespace: "default", Name: "web", ResourceVersion: version, Deleted: deleted}}
	}
	created := &observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "create", Status: 201, Object: web, BoundTo: "n1", ResourceVersion: "1", Wrote: wrote("1", false)}
	removed := &observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "delete", Status: 200, Object: observe.Object{Resource: "nodes", Kind: "Node", Name: "n1"},
		Wrote: []observe.Written{{Resource: "nodes", Name: "n1", ResourceVersion: "3", Deleted: true}}}
	logged := &observe.Logged{Controller: controllernames.PodGarbageCollector, Level: -2, Message: orphanedPod, Attrs: []observe.Attr{{Key: "pod", Value: "default/web"}, {Key: "node", Value: "n1"}}}
	for name, test := range map[string]struct {
		before []observe.Event
		want   string
	}{
		"never existed":     {[]observe.Event{created, logged}, "deleted Pod web because its Node n1 did not exist. It likely began when kubectl (admin) created Pod web."},
		"was deleted":       {[]observe.Event{created, removed, logged}, "deleted Pod web because its Node n1 did not exist. It likely began when kubectl (admin) deleted Node n1."},
		"not recorded":      {[]observe.Event{logged}, "deleted Pod web because its Node n1 did not exist."},
		"of another Pod":    {[]observe.Event{created, &observe.Logged{Controller: controllernames.PodGarbageCollector, Message: orphanedPod, Attrs: []observe.Attr{{Key: "pod", Value: "default/other"}}}}, "deleted Pod web."},
		"terminated, or so": {[]observe.Event{created}, "deleted Pod web."},
	} {
		var records []observe.Record
		for _, e := range append(test.before, &observe.Called{Controller: controllernames.PodGarbageCollector, Verb: "delete", Status: 200, Object: web, Wrote: wrote("4", true)}) {
			if c, ok := e.(*observe.Called); ok {
				copied := *c
				e = &copied
			}
			records = appendLater(records, time.Second, e)
		}
		chain, err := Why(records, web, Options{What: Deleted})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(writeString(t, chain, Text, Style{})), " ")
		if !strings.Contains(text, test.want) {
			t.Errorf("%s: want %q in\n%s", name, test.want, text)
		}
	}
}

// Nothing in the control plane leads to a simulated node that is added: no cause is missing.
func TestWhyANodeWasAdded(t *testing.T) {
	node := observe.Object{Resource: "nodes", Kind: "Node", Name: "node-1"}
	for name, tc := range map[string]struct {
		by   string
		want string
	}{
		"simulated":    {controllernames.SimulatedKubelet, "ctrlplane adds simulated nodes when it starts (--nodes), and for \"ctrlplane nodes add\".\n"},
		"not known by": {"other-controller", "The cause of the last line is not in the records.\n"},
	} {
		records := recorded(&observe.Called{Controller: tc.by, Verb: "create", Status: 201, Object: node, ResourceVersion: "6", Wrote: []observe.Written{{Resource: "nodes", Name: "node-1", ResourceVersion: "6"}}})
		chain, err := Why(records, node, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if text := writeString(t, chain, Text, Style{}); !strings.HasSuffix(text, tc.want) || chain.Complete != (name == "simulated") {
			t.Errorf("%s: complete: %v\n%s", name, chain.Complete, text)
		}
	}
}
