package trace

import (
	"fmt"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// replicaStory makes the records of a controller that has the key default/web.
type replicaStory struct {
	controller string
	records    []observe.Record
	adds       uint64
}

func (s *replicaStory) add(ms float64, e observe.Event) uint64 {
	seq := uint64(len(s.records) + 1)
	s.records = append(s.records, observe.Record{Seq: seq, Time: at(ms), Event: e})
	return seq
}

func somePod(name string) observe.Object {
	return observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: name, UID: name}
}

// write is a call that stores a version of a Pod, and the event of it. It returns the event's Seq.
func (s *replicaStory) write(ms float64, by, verb, pod string, change observe.Change, sync uint64) uint64 {
	o, version := somePod(pod), fmt.Sprint(int(ms*10))
	s.add(ms+1, &observe.Called{
		Controller: by, Verb: verb, Object: o, Status: 200, Began: at(ms), Took: time.Millisecond, Sync: sync, ResourceVersion: version,
		Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: pod, ResourceVersion: version, Deleted: change == observe.Deleted}},
	})
	s.adds++
	return s.add(ms+2, &observe.Delivered{
		Controller: s.controller, Change: change, Object: o, ResourceVersion: version, Queues: []string{"q"}, Adds: []uint64{s.adds},
		Deleting: verb == "delete" && change == observe.Updated, Took: 10 * time.Microsecond,
	})
}

// sync is a sync that an event has queued.
func (s *replicaStory) sync(ms float64, id, cause uint64) {
	e := s.records[cause-1].Event.(*observe.Delivered)
	s.add(ms, &observe.Synced{
		ID: id, Controller: s.controller, Queue: "q", Key: "default/web", KeyBasis: observe.BasisLog, Add: e.Adds[0], Cause: cause, Sure: true,
		Took: 3 * time.Millisecond, Writes: 1,
	})
}

// causeOf returns the object and the certainty of the event that a sync is linked to.
func (s *replicaStory) causeOf(t *testing.T, id uint64) string {
	t.Helper()
	n := newGraph(s.records, observe.Object{}, Options{}).syncByID[id]
	if n == nil || n.causedBy == nil {
		t.Fatalf("sync %d has no cause", id)
	}
	return fmt.Sprintf("%s %s, %s", n.causedBy.Object.Name, n.causedBy.whatChanged(), n.Cause.Certainty)
}

func TestReplacementsFollowFromDeletions(t *testing.T) {
	play := func(controller string, then func(s *replicaStory)) *replicaStory {
		s := &replicaStory{controller: controller}
		then(s)
		return s
	}
	twoDeleted := func(s *replicaStory) {
		first := s.write(10, "kubectl", "delete", "web-a", observe.Updated, 0)
		s.write(13, "kubectl", "delete", "web-b", observe.Updated, 0)
		created := s.write(14, s.controller, "create", "web-c", observe.Added, 1)
		s.sync(17, 1, first)
		s.write(18, s.controller, "create", "web-d", observe.Added, 2)
		s.sync(21, 2, created)
	}
	ownDeletion := func(s *replicaStory) {
		s.write(1, s.controller, "delete", "web-z", observe.Updated, 9)
		s.write(4, "simulated-kubelet", "delete", "web-z", observe.Deleted, 0)
		twoDeleted(s)
	}
	readyAfterDeletion := func(s *replicaStory) { // of a finished Pod, say, which needs no other one
		s.write(1, "kubectl", "delete", "web-0", observe.Deleted, 0)
		ready := s.write(10, "simulated-kubelet", "patch", "web-1", observe.Updated, 0)
		s.write(14, s.controller, "create", "web-2", observe.Added, 2)
		s.sync(17, 2, ready)
	}
	for name, test := range map[string]struct {
		*replicaStory
		want string
	}{
		"two Pods at once":                       {play("replicaset-controller", twoDeleted), "web-b marked as deleted, likely"},
		"after the controller's own deletion":    {play("replicaset-controller", ownDeletion), "web-b marked as deleted, likely"},
		"a StatefulSet waits for the Pod before": {play("statefulset-controller", readyAfterDeletion), "web-1 updated, exact"},
		"a Job begins the next Pod":              {play("job-controller", readyAfterDeletion), "web-1 updated, exact"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.causeOf(t, 2); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
