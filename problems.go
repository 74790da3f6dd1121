package ctrlplane

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// cacheDelay is how long after the version of an informer its objects may change.
	cacheDelay = time.Second
	// maxProblemObjects is how many objects are named for each problem; maxProblemOwners is how many, if each has another owner:
	// those of one owner most often have the same cause.
	maxProblemObjects = 3
	maxProblemOwners  = 10
)

// problemCounter counts the problems of Pods, Jobs and Nodes in the caches of informers, which costs about a microsecond for each object:
// it reads them only if they may have changed. It is not safe for concurrent use.
type problemCounter struct {
	informer func(runtime.Object) cache.SharedIndexInformer // nil if there is none
	kinds    []countedKind
	list     []observe.Problem
	nodes    map[string]bool // that exist; nil if that is not known
	nodesAt  countedKind     // as of when nodes was last read
	nodeSets int             // how often nodes has changed
}

// countedKind is a kind whose objects are counted, as of when they were last read.
type countedKind struct {
	name    string
	object  runtime.Object
	version string
	again   time.Time // when the objects of version are read once more; zero = never
	due     time.Time // when an object that has not changed may have a problem; zero = never
	found   []observe.Problem
}

func newProblemCounter(informer func(runtime.Object) cache.SharedIndexInformer) *problemCounter {
	return &problemCounter{informer: informer, kinds: []countedKind{
		{name: "Pod", object: &corev1.Pod{}}, {name: "Job", object: &batchv1.Job{}}, {name: "Node", object: &corev1.Node{}},
	}}
}

// count returns the problems at a time. It does not modify what it has returned before.
func (c *problemCounter) count(now time.Time) []observe.Problem {
	c.readNodes(now)
	changed := false
	for i := range c.kinds {
		informer := c.informer(c.kinds[i].object)
		if informer != nil && c.kinds[i].mayDiffer(fmt.Sprint(informer.LastSyncResourceVersion(), " ", c.nodeSets), now) {
			c.kinds[i].read(informer.GetStore().List(), c.nodes, now)
			changed = true
		}
	}
	if changed {
		c.list = nil
		for i := range c.kinds {
			c.list = append(c.list, c.kinds[i].found...)
		}
	}
	return c.list
}

// readNodes reads which nodes exist.
func (c *problemCounter) readNodes(now time.Time) {
	informer := c.informer(&corev1.Node{})
	if informer == nil || !informer.HasSynced() || !c.nodesAt.mayDiffer(informer.LastSyncResourceVersion(), now) {
		return
	}
	nodes := map[string]bool{}
	for _, name := range informer.GetStore().ListKeys() {
		nodes[name] = true
	}
	if c.nodes == nil || !maps.Equal(nodes, c.nodes) {
		c.nodes = nodes
		c.nodeSets++
	}
}

// isOnMissingNode reports whether an object is a Pod that has not finished and whose node is not one of those that exist, if these
// are known.
func isOnMissingNode(o any, nodes map[string]bool) bool {
	pod, isPod := o.(*corev1.Pod)
	return isPod && nodes != nil && pod.Spec.NodeName != "" && !nodes[pod.Spec.NodeName] &&
		pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// mayDiffer reports whether objects may have other problems than when they were last read.
func (k *countedKind) mayDiffer(version string, now time.Time) bool {
	isOver := func(at time.Time) bool { return !at.IsZero() && !now.Before(at) }
	switch {
	case version != k.version:
		k.version, k.again = version, now.Add(cacheDelay)
		return true
	case isOver(k.again):
		k.again = time.Time{}
		return true
	}
	return isOver(k.due)
}

// read counts the problems of objects, while nodes exist.
func (k *countedKind) read(objects []any, nodes map[string]bool, now time.Time) {
	k.due = time.Time{}
	found := map[observe.ProblemKind][]metav1.Object{}
	completed := lastCompletedRuns(objects)
	for _, o := range objects {
		if isSuperseded(o, completed) {
			continue
		}
		what, due := health.ProblemOf(o, now)
		if isOnMissingNode(o, nodes) {
			what, due = observe.MissingNode, time.Time{}
		}
		if !due.IsZero() && (k.due.IsZero() || due.Before(k.due)) {
			k.due = due
		}
		if meta, ok := o.(metav1.Object); ok && what != "" {
			found[what] = append(found[what], meta)
		}
	}
	k.found = nil
	for what, list := range found {
		p := observe.Problem{Kind: k.name, What: what, Count: len(list)}
		for _, o := range selectProblems(list) {
			p.Objects = append(p.Objects, observe.Object{Kind: k.name, Namespace: o.GetNamespace(), Name: o.GetName()})
		}
		k.found = append(k.found, p)
	}
	slices.SortFunc(k.found, func(a, b observe.Problem) int { return cmp.Compare(a.What, b.What) })
}

// selectProblems sorts objects and returns which of them to name: the first one of each owner, and then others.
func selectProblems(list []metav1.Object) []metav1.Object {
	slices.SortFunc(list, func(a, b metav1.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	var named, others []metav1.Object
	known := map[types.UID]bool{}
	for _, o := range list {
		owner := metav1.GetControllerOf(o)
		switch {
		case len(named) == maxProblemOwners:
			return named
		case owner == nil || !known[owner.UID]:
			named = append(named, o)
		case len(others) < maxProblemObjects:
			others = append(others, o)
		}
		if owner != nil {
			known[owner.UID] = true
		}
	}
	return append(named, others[:min(len(others), max(maxProblemObjects-len(named), 0))]...)
}

// lastCompletedRuns returns, by the UID of their CronJob, when the last of its completed Jobs was created.
func lastCompletedRuns(objects []any) map[types.UID]time.Time {
	last := map[types.UID]time.Time{}
	for _, o := range objects {
		job, isJob := o.(*batchv1.Job)
		if !isJob {
			return nil // no object of the kind is a Job
		}
		if of := cronJobOf(job); of != "" && isCompleted(job) && job.CreationTimestamp.After(last[of]) {
			last[of] = job.CreationTimestamp.Time
		}
	}
	return last
}

// cronJobOf returns the UID of the CronJob that a Job is a run of; "" if it is of none.
func cronJobOf(job *batchv1.Job) types.UID {
	owner := metav1.GetControllerOf(job)
	if owner == nil || owner.Kind != "CronJob" || !strings.HasPrefix(owner.APIVersion, batchv1.GroupName+"/") {
		return ""
	}
	return owner.UID
}

func isCompleted(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
	})
}

// isSuperseded reports whether an object is a Job of a CronJob with a later Job that has completed: the history of the CronJob
// keeps a failed one until others have failed.
func isSuperseded(o any, completed map[types.UID]time.Time) bool {
	job, isJob := o.(*batchv1.Job)
	return isJob && len(completed) > 0 && completed[cronJobOf(job)].After(job.CreationTimestamp.Time)
}
