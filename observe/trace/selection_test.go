package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// storedPod is a version of a Pod that the storage reports.
func storedPod(version string, deleted bool) observe.Written {
	return observe.Written{Resource: "pods", Namespace: "default", Name: "p", ResourceVersion: version, Deleted: deleted}
}

// podCall is a write of a Pod, answered with the version that it has stored.
func podCall(by, verb, subresource string, wrote ...observe.Written) *observe.Called {
	return &observe.Called{Controller: by, Verb: verb, Subresource: subresource, Object: pod("p"), Status: 200, Took: time.Microsecond, ResourceVersion: wrote[len(wrote)-1].ResourceVersion, Wrote: wrote}
}

// The scheduler does not select Pods that have finished: to it, such a Pod is deleted, as no delete has requested.
func TestFinishedPodsAreNotDeleted(t *testing.T) {
	finishes := podCall("simulated-kubelet", "patch", "status", storedPod("6", false))
	leaves := &observe.Delivered{Controller: "kube-scheduler", Change: observe.Deleted, Object: pod("p"), ResourceVersion: "6"}
	for name, records := range map[string][]observe.Record{
		"seen by all": recorded(podCall("job-controller", "create", "", storedPod("5", false)), finishes,
			&observe.Delivered{Controller: "job-controller", Change: observe.Updated, Object: pod("p"), ResourceVersion: "6"}, leaves),
		"seen by the scheduler only": recorded(podCall("job-controller", "create", "", storedPod("5", false)), finishes, leaves),
	} {
		if _, err := Why(records, pod("p"), Options{What: Deleted}); err == nil || !strings.Contains(err.Error(), "no record that it was deleted") {
			t.Errorf("%s: %v", name, err)
		}
		chain, err := Why(records, pod("p"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		checkSays(t, chain, []string{"Why Pod default/p was created"}, "deleted")
	}
}

// A running Pod is marked as deleted, finishes, leaves the selection of the scheduler, and is removed by its kubelet: the
// delete that has marked it is the request.
func TestRequestOfADeletionThatAKubeletEnds(t *testing.T) {
	marks := podCall("garbage-collector-controller", "delete", "", storedPod("6", false))
	finishes := podCall("simulated-kubelet", "patch", "status", storedPod("7", false))
	removes := podCall("simulated-kubelet", "delete", "", storedPod("8", false), storedPod("9", true))
	leaves := &observe.Delivered{Controller: "kube-scheduler", Change: observe.Deleted, Object: pod("p"), ResourceVersion: "7"}
	again := podCall("kubectl (admin)", "delete", "", storedPod("7", false))
	for name, c := range map[string]struct {
		records []observe.Record
		want    string
	}{
		"in order":      {recorded(podCall("job-controller", "create", "", storedPod("5", false)), marks, finishes, leaves, removes), "garbage-collector-controller"},
		"removed first": {recorded(podCall("job-controller", "create", "", storedPod("5", false)), marks, finishes, removes, leaves), "garbage-collector-controller"},
		"marked twice":  {recorded(podCall("job-controller", "create", "", storedPod("5", false)), marks, again, removes), "garbage-collector-controller"},
		"not marked":    {recorded(podCall("job-controller", "create", "", storedPod("5", false)), removes), "simulated-kubelet"},
	} {
		chain, err := Why(c.records, pod("p"), Options{What: Deleted})
		if err != nil {
			t.Fatal(err)
		}
		if got := chain.Request(); got == nil || got.Controller != c.want {
			t.Errorf("%s: the request is %+v, want one of %s:\n%s", name, got, c.want, writeString(t, chain, Text, Style{}))
		}
	}
}

// A controller whose watch was interrupted notices a removal late, and knows the last version that it has received: what
// removed the object is recorded, and is not another deletion.
func TestRemovalThatAListNoticesLate(t *testing.T) {
	records := recorded(
		podCall("job-controller", "create", "", storedPod("5", false)),
		&observe.Delivered{Controller: "job-controller", Change: observe.Added, Object: pod("p"), ResourceVersion: "5"},
		podCall("simulated-kubelet", "patch", "status", storedPod("6", false)),
		podCall("kubectl (admin)", "delete", "", storedPod("8", true)),
		&observe.Delivered{Controller: "job-controller", Change: observe.Deleted, Object: pod("p"), ResourceVersion: "5"})
	records[len(records)-1].Time = records[0].Time.Add(time.Minute)
	chain, err := Why(records, pod("p"), Options{What: Deleted})
	if err != nil {
		t.Fatal(err)
	}
	checkSays(t, chain, []string{"kubectl (admin) deleted Pod p."}, "unrecorded client")
	tree, err := Build(records, pod("p"), Options{All: true})
	if err != nil {
		t.Fatal(err)
	}
	if text := writeString(t, tree, Text, Style{}); strings.Contains(text, "unrecorded") || !strings.Contains(text, "job-controller saw it deleted") {
		t.Errorf("got:\n%s", text)
	}
}
