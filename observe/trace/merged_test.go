package trace

import (
	"slices"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A Deployment's key waits after the controller's own write of the status, and an event of a Pod arrives meanwhile.
func TestEventsOfPodsMergeIntoDeployments(t *testing.T) {
	const controller = "deployment-controller"
	podEvent := func(seq uint64, name string, change observe.Change) observe.Record {
		o := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: name, UID: name}
		return observe.Record{Seq: seq, Time: at(float64(seq)), Event: &observe.Delivered{Controller: controller, Change: change, Object: o, Took: 10 * time.Microsecond}}
	}
	set := observe.Object{Group: "apps", Resource: "replicasets", Namespace: "default", Name: "a-2"}
	status := observe.Record{Seq: 2, Time: at(2), Event: &observe.Called{
		Controller: controller, Verb: "update", Subresource: "status", Object: someDeployment("a"), Status: 200, ResourceVersion: "7", Began: at(1.5),
		Wrote: []observe.Written{{Resource: "deployments.apps", Namespace: "default", Name: "a", ResourceVersion: "7"}}}}
	ownNews := observe.Record{Seq: 3, Time: at(3), Event: &observe.Delivered{
		Controller: controller, Change: observe.Updated, Object: someDeployment("a"), ResourceVersion: "7", Took: 10 * time.Microsecond, Queues: []string{"deployment"}, Adds: []uint64{5}}}
	create := observe.Record{Seq: 9, Time: at(9.5), Event: &observe.Called{Controller: controller, Verb: "create", Object: set, Status: 201, Began: at(9.2), Sync: 9}}
	synced := observe.Record{Seq: 10, Time: at(10), Event: &observe.Synced{
		Controller: controller, Queue: "deployment", ID: 9, Key: "default/a", KeyBasis: observe.BasisLog, Add: 5, Cause: 3, Sure: true, Waited: 6 * time.Millisecond, Took: time.Millisecond}}
	for _, test := range []struct {
		name   string
		before observe.Record
		event  observe.Record
		calls  []observe.Record
		cause  string
	}{
		{"the last Pod is deleted, and the sync creates a ReplicaSet", podEvent(1, "a-1-x", observe.Added), podEvent(4, "a-1-x", observe.Deleted), []observe.Record{create}, "r4"},
		{"the last Pod is deleted, and the sync writes no ReplicaSet", podEvent(1, "a-1-x", observe.Added), podEvent(4, "a-1-x", observe.Deleted), nil, "r3"},
		{"one of two Pods is deleted", podEvent(1, "a-1-y", observe.Listed), podEvent(4, "a-1-x", observe.Deleted), []observe.Record{create}, "r3"},
		{"the last Pod of a Deployment with a longer name is deleted", podEvent(1, "a-b-1-y", observe.Added), podEvent(4, "a-b-1-y", observe.Deleted), []observe.Record{create}, "r3"},
		{"a Pod of a Deployment with a longer name exists", podEvent(1, "a-b-1-y", observe.Added), podEvent(4, "a-1-x", observe.Deleted), []observe.Record{create}, "r4"},
		{"a Pod changes", podEvent(1, "a-1-x", observe.Added), podEvent(4, "a-1-x", observe.Updated), []observe.Record{create}, "r3"},
	} {
		records := append([]observe.Record{test.before, status, ownNews, test.event}, append(test.calls, synced)...)
		if n := newGraph(records, observe.Object{}, Options{}).syncByID[9]; n.Cause == nil || n.Cause.ID != test.cause {
			t.Errorf("%s: the cause is %+v, want %s", test.name, n.Cause, test.cause)
		}
	}
}

// A Pod leads to the keys of other controllers although its handler adds them to no queue with a name, as that of the
// EndpointSlice controller.
func TestEventsOfPodsMergeIntoRetries(t *testing.T) {
	pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "a-1-x", UID: "p"}
	n := newGraph([]observe.Record{
		syncedRecord(1, observe.Synced{ID: 71, Key: "default/a", Add: 1, Sure: true, Retried: true, Due: at(6.99)}),
		{Seq: 8, Time: at(8), Event: &observe.Delivered{Controller: "c", Change: observe.Updated, Object: pod, ResourceVersion: "8", Took: 10 * time.Microsecond}},
		syncedRecord(10, observe.Synced{ID: 9, Key: "default/a", Add: 5, Timed: true, Sure: true}),
	}, observe.Object{}, Options{}).syncByID[9]
	if want := (Cause{"r8", Likely, ByMerge}); n.Cause == nil || *n.Cause != want {
		t.Errorf("got %+v, want %+v", n.Cause, want)
	}
}

// A Deployment whose strategy is Recreate does not change the causes of others.
func TestRecreatedDeploymentElsewhere(t *testing.T) {
	for _, name := range []string{"hpa", "writers", "operator", "dispute"} {
		records := loadJournal(t, name)
		deleted := observe.Record{Seq: 1, Time: records[0].Time.Add(-time.Minute), Event: &observe.Delivered{
			Controller: "deployment-controller", Change: observe.Deleted, ResourceVersion: "5", Queues: []string{"deployment"}, Adds: []uint64{100000},
			Object: observe.Object{Resource: "pods", Kind: "Pod", Namespace: "other", Name: "recreated-1-x", UID: "u"}}}
		checkCauses(t, name, newGraph(slices.Concat([]observe.Record{deleted}, records), observe.Object{}, Options{}))
	}
}
