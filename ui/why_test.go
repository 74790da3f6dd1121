package ui

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// An object that is not healthy may wait for a controller that a user has paused or stopped.
func TestWhyNamesInterventions(t *testing.T) {
	now := observe.Snapshot{
		Process: observe.Process{State: observe.Ready},
		Controllers: []observe.Controller{
			{Name: "replicaset-controller", State: "paused", Reason: "its writes are held", Held: 3},
			{Name: "namespace-controller", State: "paused", Reason: "its writes are held", Interventions: observe.Interventions{Paused: true}},
			{Name: "cronjob-controller", State: "paused", Reason: "its writes are held, each call waits 2s"},
			{Name: "deployment-controller", State: "off", Reason: observe.ReasonStopped},
			{Name: "job-controller", State: "running"},
			{Name: "operator/site", State: "paused", Reason: "its writes are held"},
		},
	}
	for problem, want := range map[string][]string{
		"Available: 0/1": {"replicaset-controller is paused: 3 writes are held.", "cronjob-controller is paused: its writes are held, each call waits 2s.", "deployment-controller is stopped.", "operator/site is paused: its writes are held."},
		"":               nil,
	} {
		q := Why{About: observe.Object{Kind: "Deployment", Name: "web"}, Options: trace.Options{State: now}, State: ObjectState{Exists: true, Problem: problem}}
		_, _ = q.Chain(nil, trace.Style{}) // nothing is recorded
		if !slices.Equal(q.Options.Working, want) {
			t.Errorf("with the problem %q: got %q, want %q", problem, q.Options.Working, want)
		}
	}
}

// A Node does not wait for controllers that have nothing to do with Nodes.
func TestWhyOfANodeNamesItsControllers(t *testing.T) {
	off := func(name string, watches []string, writes ...observe.WriteCount) observe.Controller {
		return observe.Controller{Name: name, State: observe.StateOff, Reason: observe.ReasonStopped, Watches: watches, Writes: writes}
	}
	now := observe.Snapshot{
		Process: observe.Process{State: observe.Ready},
		Controllers: []observe.Controller{
			off("deployment-controller", []string{"deployments.apps", "pods"}, observe.WriteCount{Verb: "update", Resource: "deployments.apps/status", Count: 1}),
			off("node-lifecycle-controller", []string{"nodes", "pods"}),
			off("cloud-node-controller", []string{"services"}, observe.WriteCount{Verb: "patch", Resource: "nodes/status", Count: 1}),
			off("unknown-controller", nil),
		},
		Clients: []observe.Client{{Name: "operator (admin)", State: "paused"}},
	}
	const related = "node-lifecycle-controller is stopped."
	for resource, want := range map[string][]string{
		"nodes": {related, "cloud-node-controller is stopped.", "unknown-controller is stopped.", "operator (admin) is paused."},
		"pods":  {"deployment-controller is stopped.", related, "cloud-node-controller is stopped.", "unknown-controller is stopped.", "operator (admin) is paused."},
	} {
		q := Why{About: observe.Object{Resource: resource, Name: "one"}, Options: trace.Options{State: now}, State: ObjectState{Exists: true, Problem: "It is not ready."}}
		_, _ = q.Chain(nil, trace.Style{}) // nothing is recorded
		if !slices.Equal(q.Options.Working, want) {
			t.Errorf("%s: got %q, want %q", resource, q.Options.Working, want)
		}
	}
}

// That its node was failed is said before what else may be why an object is not healthy.
func TestWhyNamesAFailedNode(t *testing.T) {
	list := []control.Node{{Name: "node-1", Failed: true}, {Name: "node-2", Ready: "Unknown"}}
	command := func(s string) string { return "ctrlplane " + s }
	if got := DescribeFailedNode(list, "node-2", command) + DescribeFailedNode(list, "", command); got != "" {
		t.Errorf("of nodes that were not failed: %q", got)
	}
	now := observe.Snapshot{Controllers: []observe.Controller{{Name: "node-lifecycle-controller", State: observe.StatePaused}}}
	for problem, want := range map[string][]string{
		"It is not ready.": {`node-1 was failed by "nodes fail": to undo it: ctrlplane nodes recover node-1.`, "node-lifecycle-controller is paused."},
		"":                 {`node-1 was failed by "nodes fail": to undo it: ctrlplane nodes recover node-1.`},
	} {
		state := ObjectState{Exists: true, Problem: problem, FailedNode: DescribeFailedNode(list, "node-1", command)}
		q := Why{About: observe.Object{Resource: "nodes", Kind: "Node", Name: "node-1"}, Options: trace.Options{State: now}, State: state}
		_, _ = q.Chain(nil, trace.Style{}) // nothing is recorded
		if !slices.Equal(q.Options.Working, want) {
			t.Errorf("with the problem %q: got %q, want %q", problem, q.Options.Working, want)
		}
	}
}

// That an object was not changed after its creation answers what led to its last change.
func TestWhyAnswersThatAnObjectWasNotChanged(t *testing.T) {
	about, at := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "a"}, time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	created := &observe.Called{Controller: "kubectl (admin)", Verb: "create", Object: about, Status: 201, Began: at, Client: &observe.Caller{User: "admin"}}
	for what, want := range map[trace.What]string{
		trace.Changed: "Pod default/a was not changed after kubectl (admin) created it at 12:00:00.000. \"ctrlplane trace pod/a\" shows what is recorded.\n",
		trace.Deleted: "",
	} {
		q := Why{About: about, Options: trace.Options{What: what}, State: ObjectState{Exists: true}, Trace: `"ctrlplane trace pod/a"`}
		var out strings.Builder
		err := q.Write(&out, []observe.Record{{Seq: 1, Time: at, Event: created}}, trace.Text, trace.Style{Width: 200})
		if out.String() != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v", what, out.String(), err)
		}
	}
}

// Nothing is recorded of an object whose creation waits in a webhook. That is what is said about it.
func TestWhyOfAnObjectThatIsBeingCreated(t *testing.T) {
	about := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"}
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	now := observe.Snapshot{Time: at.Add(4 * time.Second), Clients: []observe.Client{{
		Name: "kubectl (admin)", Unanswered: []observe.UnansweredWrite{{Controller: "kubectl (admin)", Verb: "create", Object: about, Since: at}},
	}}}
	q := Why{About: about, Options: trace.Options{State: now}}
	var text strings.Builder
	if err := q.Write(&text, nil, trace.Text, trace.Style{Width: 200}); err != nil {
		t.Fatal(err)
	}
	if want := "kubectl (admin) has been waiting since 12:00:00.000 (4.0 s) for the answer to its request to create Deployment default/web.\n"; text.String() != want {
		t.Errorf("got %q, want %q", text.String(), want)
	}
	if _, err := q.Chain(nil, trace.Style{}); err == nil || err.Error()+".\n" != "nothing is recorded of it yet: "+text.String() {
		t.Errorf("got %v", err) // on the page, and with -o json
	}
	q.About.Name = "other"
	if err := q.Write(&text, nil, trace.Text, trace.Style{}); err == nil {
		t.Error("an object of which nothing is known is explained")
	}
}

// A recording has no objects. What it has of the snapshot and the warnings says what may have been wrong.
func TestWhyFromARecording(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	object := func(group, resource, kind, name string) observe.Object {
		return observe.Object{Group: group, Resource: resource, Kind: kind, Namespace: "default", Name: name}
	}
	web, set, pod := object("apps", "deployments", "Deployment", "web"), object("apps", "replicasets", "ReplicaSet", "web-1"), object("", "pods", "Pod", "web-1-a")
	create := func(seq uint64, controller string, sync uint64, o observe.Object) observe.Record {
		return observe.Record{Seq: seq, Time: at, Event: &observe.Called{Controller: controller, Verb: "create", Object: o, Status: 201, Sync: sync, Began: at,
			Wrote: []observe.Written{{Resource: o.GroupResource(), Namespace: o.Namespace, Name: o.Name, ResourceVersion: "7"}}}}
	}
	synced := func(seq uint64, controller, queue string, id uint64, key string) observe.Record {
		return observe.Record{Seq: seq, Time: at, Event: &observe.Synced{Controller: controller, Queue: queue, ID: id, Key: key, KeyBasis: observe.BasisLog}}
	}
	warning := func(seq uint64, o observe.Object, reason, note string) observe.Record {
		return observe.Record{Seq: seq, Time: at.Add(time.Second), Event: &observe.Called{Controller: "kube-scheduler", Verb: "create", Status: 201,
			Object: object("events.k8s.io", "events", "Event", "e"), Event: &observe.KubernetesEvent{Type: "Warning", Reason: reason, Note: note, Regarding: o}}}
	}
	records := []observe.Record{
		create(1, "kubectl (admin)", 0, web), create(2, "deployment-controller", 1, set), synced(3, "deployment-controller", "deployment", 1, "default/web"),
		create(4, "replicaset-controller", 2, pod), synced(5, "replicaset-controller", "replicaset", 2, "default/web-1"),
		warning(6, pod, "FailedScheduling", "0/1 nodes are available."), warning(7, object("", "pods", "Pod", "other"), "BackOff", "of another Pod"),
	}
	again := append(slices.Clone(records), observe.Record{Seq: 8, Time: at.Add(9 * time.Second), Event: &observe.Called{Controller: "kube-scheduler", Verb: "patch", Status: 200,
		Object: object("events.k8s.io", "events", "Event", "e")}})
	other := pod // of the same name, created after the one that the warning is about
	pod.UID, other.UID = "1", "2"
	created := append(slices.Clone(records), create(8, "kubectl (admin)", 0, other))
	created[5] = warning(6, pod, "FailedScheduling", "0/1 nodes are available.")
	restored := append(slices.Clone(created), observe.Record{Seq: 9, Time: at, Event: &observe.Called{Controller: observe.Own, Verb: observe.VerbRestore, Object: pod, Status: 200,
		Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: pod.Name, ResourceVersion: "9"}}}})
	pod.UID = ""
	const warned = "Last warning about Pod default/web-1-a, at 12:00:01.000: FailedScheduling: 0/1 nodes are available."
	const unknown = "Whether it was ready is not known: a recording has no objects."
	paused := observe.Controller{Name: "replicaset-controller", State: "paused", Reason: observe.WritesHeld, Held: 4, Watches: []string{"replicasets.apps", "pods"}}
	stopped := observe.Controller{Name: "cronjob-controller", State: observe.StateOff, Reason: observe.ReasonStopped, Watches: []string{"cronjobs.batch"}}
	now := observe.Snapshot{Time: at.Add(2 * time.Second), Process: observe.Process{State: observe.Ready}, Controllers: []observe.Controller{stopped, paused},
		Timers: []observe.Timer{{What: "Pod default/web-1-a", Due: at.Add(9 * time.Second), Reason: "CrashLoopBackOff"}, {What: "Pod default/other", Due: at, Reason: "CrashLoopBackOff"}}}
	quiet := observe.Snapshot{Time: now.Time}
	removed := append(slices.Clone(records), observe.Record{Seq: 8, Time: at, Event: &observe.Called{Controller: "kubectl (admin)", Verb: "delete", Object: web, Status: 200, Began: at,
		Wrote: []observe.Written{{Resource: "deployments.apps", Namespace: "default", Name: "web", ResourceVersion: "9", Deleted: true}}}})
	for name, tc := range map[string]struct {
		now     observe.Snapshot
		records []observe.Record
		about   observe.Object
		want    []string
	}{
		"an intervention": {now, records, web, []string{"replicaset-controller is paused: 4 writes are held.", "Pod default/web-1-a waits for a restart: CrashLoopBackOff, next attempt in 7.0 s.", warned, unknown}},
		"a warning":       {quiet, records, set, []string{warned, unknown}},
		"of the Pod":      {quiet, records, pod, []string{strings.Replace(warned, " about Pod default/web-1-a", "", 1), unknown}},
		"which repeats":   {quiet, again, set, []string{strings.Replace(warned, "12:00:01", "12:00:09", 1), unknown}},
		"of an earlier":   {quiet, created, pod, nil},
		"restored":        {quiet, restored, pod, []string{strings.Replace(warned, " about Pod default/web-1-a", "", 1), unknown}},
		"nothing":         {quiet, records[:5], web, nil},
		"removed":         {now, removed, web, nil},
		"not recorded":    {now, records, object("apps", "deployments", "Deployment", "none"), nil},
	} {
		q := Why{About: tc.about, Options: trace.Options{State: tc.now}, State: ObjectState{Recorded: true}}
		_, _ = q.Chain(tc.records, trace.Style{}) // of an object without records
		if !slices.Equal(q.Options.Working, tc.want) {
			t.Errorf("%s: got %q", name, q.Options.Working)
		}
	}
}

// TestWhySaysWhatIsNotSimulated adds a sentence, which does not answer what led to an object.
// A test often deletes what has failed, before the recording ends.
func TestWhyOfADeletedObject(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "one"}
	event := observe.Object{Group: "events.k8s.io", Resource: "events", Namespace: "default", Name: "e"}
	call := func(seq uint64, verb string, c observe.Called) observe.Record {
		c.Controller, c.Verb, c.Status, c.Began = "kubectl (admin)", verb, 200, at.Add(time.Duration(seq)*time.Second)
		return observe.Record{Seq: seq, Time: c.Began, Event: &c}
	}
	records := []observe.Record{
		call(1, "create", observe.Called{Object: pod}),
		call(2, "create", observe.Called{Object: event, Event: &observe.KubernetesEvent{Type: "Warning", Reason: "Unhealthy", Note: "Readiness probe failed: ", Regarding: pod}}),
		call(3, "delete", observe.Called{Object: pod, Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: "one", Deleted: true}}}),
	}
	earlier := Why{About: pod, State: ObjectState{Recorded: true}}
	said := earlier.DescribeBeforeDeletion(records[:2], trace.Style{})
	if want := []string{"Before its deletion: Last warning, at 12:00:02.000: Unhealthy: Readiness probe failed."}; !slices.Equal(said, want) {
		t.Errorf("got %q, want %q", said, want)
	}
	end := Why{About: pod, State: ObjectState{Recorded: true}, BeforeDeletion: said}
	if chain, err := end.Chain(records, trace.Style{}); err != nil || !slices.Equal(chain.Working, said) {
		t.Errorf("got %+v: %v", chain, err)
	}
}

func TestWhySaysWhatIsNotSimulated(t *testing.T) {
	const said = "No component of a control plane enforces a NetworkPolicy."
	q := Why{
		About: observe.Object{Kind: "NetworkPolicy", Name: "one"}, State: ObjectState{Exists: true, Simulation: said},
		Options: trace.Options{State: observe.Snapshot{Process: observe.Process{State: observe.Ready}}},
	}
	var out strings.Builder
	if err := q.Write(&out, nil, trace.Text, trace.Style{}); err == nil {
		t.Errorf("without records it answers: %s", &out)
	}
	if !slices.Equal(q.Options.Working, []string{said}) {
		t.Errorf("got %q", q.Options.Working)
	}
}

// An operator that queues Jobs preempts one by suspending it: the Job controller deletes the Pod then, and the Job says why.
func TestWhyDeletedSaysWhyTheOwnerIsSuspended(t *testing.T) {
	const uid = "b2f85368-1b6f-49b2-87bb-4eeec10c20bb"
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "low-a"}
	job := observe.Object{Group: "batch", Resource: "jobs", Kind: "Job", Namespace: "default", Name: "low"}
	preemptor := observe.Object{Group: "batch", Resource: "jobs", Kind: "Job", Namespace: "default", Name: "high", UID: uid}
	call := func(seq uint64, c observe.Called) observe.Record {
		c.Status, c.Began = cmp.Or(c.Status, 200), at.Add(time.Duration(seq)*time.Second)
		return observe.Record{Seq: seq, Time: c.Began, Event: &c}
	}
	records := []observe.Record{
		call(1, observe.Called{Controller: "kubectl (admin)", Verb: "create", Status: 201, Object: preemptor, Client: &observe.Caller{User: "admin"}}),
		call(2, observe.Called{Controller: "queue (admin)", Verb: "patch", Object: job, ResourceVersion: "7", Client: &observe.Caller{User: "admin"},
			Wrote: []observe.Written{{Resource: "jobs.batch", Namespace: "default", Name: "low", ResourceVersion: "7"}}}),
		{Seq: 3, Time: at.Add(2 * time.Second), Event: &observe.Delivered{Controller: "job-controller", Change: observe.Updated, Object: job, ResourceVersion: "7",
			Queues: []string{"job"}, Adds: []uint64{1}}},
		call(4, observe.Called{Controller: "job-controller", Verb: "delete", Object: pod, Sync: 9, Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: "low-a", ResourceVersion: "8", Deleted: true}}}),
		{Seq: 5, Time: at.Add(5 * time.Second), Event: &observe.Synced{Controller: "job-controller", Queue: "job", ID: 9, Key: "default/low", KeyBasis: observe.BasisLog, Add: 1, Cause: 3, Sure: true, Took: 3 * time.Second}},
	}
	for name, test := range map[string]struct {
		state ObjectState
		want  []string
	}{
		"preempted": {
			ObjectState{Exists: true, Suspended: "spec.suspend", Problem: "It is not ready: suspended: spec.suspend is true; condition Evicted of Workload w is True: Preempted: for JobUID: " + uid + "."},
			[]string{"Job low is not ready: suspended: spec.suspend is true; condition Evicted of Workload w is True: Preempted: for JobUID: " + uid + " (Job high)."},
		},
		"suspended":     {ObjectState{Exists: true, Suspended: "spec.suspend"}, []string{"Job low is suspended: spec.suspend is true."}},
		"admitted":      {ObjectState{Exists: true, Problem: "It is not ready: its Pod is starting."}, nil},
		"deleted since": {ObjectState{}, nil},
	} {
		q := Why{About: pod, Options: trace.Options{What: trace.Deleted}, Describe: func(o observe.Object) ObjectState {
			if !o.Same(job) {
				t.Errorf("%s: %s is described", name, o)
			}
			return test.state
		}}
		chain, err := q.Chain(records, trace.Style{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(chain.Working, test.want) {
			t.Errorf("%s: got %q, want %q", name, chain.Working, test.want)
		}
	}
}

// A condition has the error of an earlier attempt to create a Pod, whose name was another one.
func TestWhySaysAnErrorWithAGeneratedNameOnce(t *testing.T) {
	key := observe.FailingKey{Key: "default/web-794c", Error: `Pod "web-794c-4df6z" is invalid`}
	for problem, want := range map[string]bool{
		`It is not ready: FailedCreate: Pod "web-794c-s7d4b" is invalid.`: true,
		`It is not ready: FailedCreate: Pod "web-795c-s7d4b" is invalid.`: false,
		`It is not ready: FailedCreate: Pod "web-794c-other" is invalid.`: false,
	} {
		if hasError(problem, key) != want {
			t.Errorf("%s: want %t", problem, want)
		}
	}
	if !hasError("FailedCreate: a\xff", observe.FailingKey{Key: "\xff", Error: "a\xff"}) {
		t.Error("an error that is not UTF-8 is not found")
	}
}

// The error of a key that fails is said once: the condition of an object often has it.
func TestWhySaysAnErrorOnce(t *testing.T) {
	about := observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "default", Name: "web"}
	now := observe.Snapshot{Controllers: []observe.Controller{{Name: "replicaset-controller", Failing: []observe.FailingKey{
		{Queue: "replicaset", Key: "default/web", KeyBasis: observe.BasisLog, Error: "webhook is\ndown.", Times: 4},
	}}}}
	for problem, want := range map[string]string{
		"It is not ready: FailedCreate: webhook is down.":                 "replicaset-controller fails for default/web, 4 times in a row.",
		"It is not ready: FailedCreate: webhook is down. It has no Pods.": "replicaset-controller fails for default/web, 4 times in a row.",
		"It is not ready.":                        "replicaset-controller fails for default/web, 4 times in a row: webhook is down.",
		"It is not ready: its webhook is down.":   "replicaset-controller fails for default/web, 4 times in a row: webhook is down.",
		"It is not ready: webhook is downloaded.": "replicaset-controller fails for default/web, 4 times in a row: webhook is down.",
	} {
		q := Why{About: about, Options: trace.Options{State: now}, State: ObjectState{Exists: true, Problem: problem}}
		_, _ = q.Chain(nil, trace.Style{}) // nothing is recorded
		if got := q.Options.Failing; !slices.Equal(got, []string{want}) {
			t.Errorf("with the problem %q: got %q", problem, got)
		}
	}
}
