package ctrlplane

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// fakeInformer has a store, and counts how often that is listed.
type fakeInformer struct {
	cache.SharedIndexInformer
	cache.Store
	version string
	lists   int
}

func (i *fakeInformer) LastSyncResourceVersion() string { return i.version }
func (i *fakeInformer) HasSynced() bool                 { return true }
func (i *fakeInformer) GetStore() cache.Store           { return i }
func (i *fakeInformer) List() []any                     { i.lists++; return i.Store.List() }

func (i *fakeInformer) put(t *testing.T, obj any) {
	if err := i.Add(obj); err != nil {
		t.Fatal(err)
	}
	i.version += "1"
}

func unstartedPod(name string, since time.Time) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{NodeName: "n"},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(since),
		}}},
	}
}

func unreadyNode(name string, since time.Time) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(since),
	}}}}
}

func TestProblemCounter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	pods := &fakeInformer{Store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	jobs := &fakeInformer{Store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	nodes := &fakeInformer{Store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	c := newProblemCounter(func(o runtime.Object) cache.SharedIndexInformer {
		switch o.(type) {
		case *corev1.Pod:
			return pods
		case *batchv1.Job:
			return jobs
		}
		return nodes
	})
	expect := func(after time.Duration, want string) {
		t.Helper()
		now = now.Add(after)
		got := ""
		for _, p := range c.count(now) {
			got += fmt.Sprint(p.Count, " ", p.Kind, " ", p.What, " ")
			for _, o := range p.Objects {
				got += o.Name + " "
			}
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	expect(0, "")
	nodes.put(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	for _, name := range []string{"e", "d", "b", "a"} {
		pods.put(t, unstartedPod(name, now))
	}
	jobs.put(t, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "j"},
		Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}}})
	nodes.put(t, unreadyNode("node-1", now))
	expect(time.Second, "1 Job failed j ")
	expect(7*time.Second, "4 Pod cannotStart a b d e 1 Job failed j ")
	expect(3*time.Second, "4 Pod cannotStart a b d e 1 Job failed j 1 Node notReady node-1 ")
	if err := nodes.Delete(unreadyNode("node-1", now)); err != nil {
		t.Fatal(err)
	}
	nodes.version += "1"
	expect(time.Second, "4 Pod cannotStart a b d e 1 Job failed j ")
	expect(time.Second, "4 Pod cannotStart a b d e 1 Job failed j ")
	if err := nodes.Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}); err != nil {
		t.Fatal(err)
	}
	nodes.version += "1"
	finished := unstartedPod("f", now)
	finished.Status.Phase = corev1.PodSucceeded
	pods.put(t, finished)
	expect(0, "4 Pod missingNode a b d e 1 Job failed j ")
	nodes.put(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	expect(0, "4 Pod cannotStart a b d e 1 Job failed j ")
	expect(time.Second, "4 Pod cannotStart a b d e 1 Job failed j ")
	before := pods.lists
	expect(time.Hour, "4 Pod cannotStart a b d e 1 Job failed j ")
	if pods.lists != before {
		t.Error("the Pods were read again, though none has changed")
	}
	for _, name := range []string{"e", "d", "b", "a"} {
		if err := pods.Delete(unstartedPod(name, now)); err != nil {
			t.Fatal(err)
		}
	}
	pods.version += "1"
	expect(time.Second, "1 Job failed j ")
}

// Of many objects with a problem one of each owner is named, and then others.
func TestSelectProblems(t *testing.T) {
	names := func(owned map[string]int) (got string) {
		var list []metav1.Object
		for owner, n := range owned {
			for i := range n {
				pod := unstartedPod(fmt.Sprint(owner, "-", i), time.Time{})
				if owner != "alone" {
					pod.OwnerReferences = []metav1.OwnerReference{{Name: owner, UID: types.UID(owner), Controller: new(true)}}
				}
				list = append(list, pod)
			}
		}
		for _, o := range selectProblems(list) {
			got += o.GetName() + " "
		}
		return got
	}
	for _, tc := range []struct {
		owned map[string]int
		want  string
	}{
		{map[string]int{"a": 2}, "a-0 a-1 "},
		{map[string]int{"a": 9}, "a-0 a-1 a-2 "},
		{map[string]int{"a": 9, "b": 1}, "a-0 b-0 a-1 "},
		{map[string]int{"a": 9, "b": 2, "c": 3, "z": 1}, "a-0 b-0 c-0 z-0 "},
		{map[string]int{"alone": 12}, "alone-0 alone-1 alone-10 alone-11 alone-2 alone-3 alone-4 alone-5 alone-6 alone-7 "},
	} {
		if got := names(tc.owned); got != tc.want {
			t.Errorf("%v: got %s, want %s", tc.owned, got, tc.want)
		}
	}
}

// A failed run of a CronJob, which its history keeps, is a problem until a later run has completed.
func TestFailedRunsOfACronJob(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	jobs := &fakeInformer{Store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	c := newProblemCounter(func(o runtime.Object) cache.SharedIndexInformer {
		if _, is := o.(*batchv1.Job); is {
			return jobs
		}
		return nil
	})
	kind := metav1.OwnerReference{APIVersion: "batch/v1", Kind: "CronJob"}
	run := func(name, owner string, at time.Duration, end batchv1.JobConditionType) {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, CreationTimestamp: metav1.NewTime(now.Add(at))}}
		if owner != "" {
			job.OwnerReferences = []metav1.OwnerReference{{APIVersion: kind.APIVersion, Kind: kind.Kind, Name: owner, UID: types.UID(owner), Controller: new(true)}}
		}
		if end != "" {
			job.Status.Conditions = []batchv1.JobCondition{{Type: end, Status: corev1.ConditionTrue}}
		}
		jobs.put(t, job)
	}
	expect := func(want ...string) {
		t.Helper()
		var got []string
		for _, p := range c.count(now) {
			for _, o := range p.Objects {
				got = append(got, o.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	run("a-1", "a", 0, batchv1.JobComplete)
	run("a-2", "a", time.Minute, batchv1.JobFailed)
	run("a-3", "a", 2*time.Minute, "")
	run("b-3", "b", 3*time.Minute, batchv1.JobComplete)
	run("once", "", 0, batchv1.JobFailed)
	run("once-more", "", time.Minute, batchv1.JobComplete)
	expect("a-2", "once")
	run("a-3", "a", 2*time.Minute, batchv1.JobComplete)
	expect("once")
	run("a-4", "a", 3*time.Minute, batchv1.JobFailed)
	expect("a-4", "once")

	kind = metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Workflow"} // whose Jobs are not runs of the same
	run("w-1", "w", 0, batchv1.JobFailed)
	run("w-2", "w", time.Minute, batchv1.JobComplete)
	expect("a-4", "once", "w-1")
}

// BenchmarkProblemCounter has 5,000 Pods, of which one changes before each count.
func BenchmarkProblemCounter(b *testing.B) {
	pods := &fakeInformer{Store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	for i := range 5000 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint(i)}, Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{
			Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "c", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
		}}
		if err := pods.Add(pod); err != nil {
			b.Fatal(err)
		}
	}
	c := newProblemCounter(func(o runtime.Object) cache.SharedIndexInformer {
		if _, is := o.(*corev1.Pod); is {
			return pods
		}
		return nil
	})
	for i := 0; b.Loop(); i++ {
		pods.version = fmt.Sprint(i)
		c.count(time.Time{})
	}
}
