package scheduler

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	upstream "k8s.io/kubernetes/pkg/scheduler"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/profile"

	"github.com/ctrlplane/ctrlplane/observe"
)

// cycles records the work of a scheduler as syncs of Pods. A sync begins when the
// scheduler takes a Pod from its queue, and ends when the Pod is bound or its
// scheduling has failed. It is caused by the event that made the Pod schedulable.
type cycles struct {
	recorder *observe.Recorder
	queue    *observe.KeyedQueue
	totals   *Totals
	waitTurn func() // with each Pod

	mu     sync.Mutex
	waits  map[string]string             // by key: the one of upstream's queues that it is in
	queued map[string]*observe.QueuedKey // by key; until the scheduler takes it
	failed map[string]*observe.KeyedSync // the last attempt for a Pod that waits for another one
	// active are the attempts for each Pod, oldest first. There may be two: upstream queues a
	// Pod before it writes why an attempt has failed, and skips a Pod that is being bound.
	active map[types.UID][]*observe.KeyedSync
	group  *observe.KeyedSync // of a group of Pods, which are not bound one by one
	closed bool               // the scheduler stops

	// Only the goroutine that schedules uses these.
	leave      func() // leaves the current sync
	current    *observe.KeyedSync
	currentPod types.UID
	attempted  bool
}

func newCycles(recorder *observe.Recorder, totals *Totals) *cycles {
	return &cycles{
		recorder: recorder, queue: recorder.KeyedQueue(activeQueue), totals: totals, leave: func() {}, waitTurn: func() {},
		waits: map[string]string{}, queued: map[string]*observe.QueuedKey{}, failed: map[string]*observe.KeyedSync{}, active: map[types.UID][]*observe.KeyedSync{},
	}
}

// observe makes s report to c. Nothing of s has been started yet.
func (c *cycles) observe(s *upstream.Scheduler) {
	if c.recorder == nil {
		return
	}
	s.SchedulingQueue = forgettingQueue{s.SchedulingQueue, c}
	next, schedule, fail := s.NextEntity, s.SchedulePod, s.FailureHandler
	s.NextEntity = func(log klog.Logger) (framework.QueuedEntityInfo, error) {
		c.endUnattempted()
		entity, err := next(log)
		if err == nil && entity != nil {
			c.begin(entity)
			c.waitTurn()
		}
		return entity, err
	}
	s.SchedulePod = func(ctx context.Context, fw framework.Framework, state fwk.CycleState, pod *framework.QueuedPodInfo) (upstream.ScheduleResult, error) {
		c.attempted = true
		return schedule(ctx, fw, state, pod)
	}
	s.FailureHandler = func(ctx context.Context, fw framework.Framework, pod *framework.QueuedPodInfo, status *fwk.Status, nominating *fwk.NominatingInfo, start time.Time) {
		failure := c.recordFailure(status)
		attempt := c.takeOldest(pod.Pod.UID)
		fail(ctx, fw, pod, status, nominating, start)
		c.endFailed(attempt, pod.Pod, failure)
	}
}

// begin begins the sync of what the scheduler has taken from its queue.
func (c *cycles) begin(entity framework.QueuedEntityInfo) {
	key := klog.KRef(entity.GetNamespace(), entity.GetName()).String()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.queue.Begin(key, c.queued[key])
	if queue, ok := c.waits[key]; ok && queue != activeQueue { // upstream takes Pods from the backoff queue while the active one is empty
		c.totals.add(activeQueue)
	}
	c.forgetKey(key)
	if pod, ok := entity.(*framework.QueuedPodInfo); ok {
		c.current, c.currentPod, c.attempted = s, pod.Pod.UID, false
		c.active[c.currentPod] = append(c.active[c.currentPod], s)
	} else {
		c.current, c.group = nil, s
	}
	c.leave = s.Enter()
	if c.closed {
		c.endAll()
	}
}

// endUnattempted ends the sync of a Pod that was not to be scheduled after all, or of
// a group. That of any other Pod goes on while the Pod is bound.
func (c *cycles) endUnattempted() {
	c.leave()
	c.leave = func() {}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.group.End("")
	c.group = nil
	if c.current != nil && !c.attempted {
		c.current.End("")
		c.setActive(c.currentPod, slices.DeleteFunc(c.active[c.currentPod], func(s *observe.KeyedSync) bool { return s == c.current }))
	}
}

// close ends the syncs of a scheduler that stops: what ends a sync otherwise, such as the next Pod, need not
// follow. One that begins later ends at once, as upstream does not wait for the goroutine that schedules.
func (c *cycles) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.endAll()
}

// endAll needs the lock.
func (c *cycles) endAll() {
	c.group.End("")
	c.group = nil
	for _, list := range c.active {
		for _, s := range list {
			s.End("")
		}
	}
	clear(c.active)
}

// takeOldest returns the attempt for a Pod that ends first, and no longer counts it as
// active: any later one waits for its end. nil for a Pod of a group.
func (c *cycles) takeOldest(uid types.UID) *observe.KeyedSync {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.active[uid]
	if len(list) == 0 {
		return nil
	}
	c.setActive(uid, list[1:])
	return list[0]
}

// setActive needs the lock.
func (c *cycles) setActive(uid types.UID, list []*observe.KeyedSync) {
	if len(list) == 0 {
		delete(c.active, uid)
		return
	}
	c.active[uid] = list
}

// endFailed ends an attempt after upstream has queued its Pod again, if it has.
func (c *cycles) endFailed(s *observe.KeyedSync, pod *corev1.Pod, failure string) {
	if s == nil {
		return
	}
	key := klog.KObj(pod).String()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queued[key] != nil || len(c.active[pod.UID]) > 0 {
		s.Requeued(time.Now())
	}
	s.End(failure)
	switch {
	case c.waits[key] != "":
		c.failed[key] = s
	case len(c.active[pod.UID]) == 0: // it was deleted during the attempt, or bound after all
		c.queue.Forget(key)
	}
}

// bound ends the sync of a Pod that was bound.
func (c *cycles) bound(uid types.UID) {
	c.takeOldest(uid).End("")
}

// moved is called by the goroutine that moves a Pod to another queue. A Pod that is to
// be scheduled stays so whatever else happens to it until the scheduler takes it.
func (c *cycles) moved(key, queue string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.totals.add(queue)
	c.waits[key] = queue
	switch {
	case queue == unschedulableQueue, queue == gatedQueue:
		delete(c.queued, key)
	case c.queued[key] == nil:
		added := c.queue.Add(time.Time{})
		added.After(c.failed[key])
		c.queued[key] = added
	}
}

func (c *cycles) forget(pod *corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := klog.KObj(pod).String()
	c.forgetKey(key)
	c.queue.Forget(key)
}

// forgetKey needs the lock.
func (c *cycles) forgetKey(key string) {
	delete(c.waits, key)
	delete(c.queued, key)
	delete(c.failed, key)
}

// forgettingQueue is a scheduling queue that forgets the Pods that are deleted, or
// were bound, in cycles as well.
type forgettingQueue struct {
	internalqueue.SchedulingQueue
	cycles *cycles
}

func (q forgettingQueue) Delete(log klog.Logger, pod *corev1.Pod) {
	q.SchedulingQueue.Delete(log, pod)
	q.cycles.forget(pod)
}

// observeBindings returns a factory of event recorders that report the event with
// which upstream ends a binding.
func (c *cycles) observeBindings(factory profile.RecorderFactory) profile.RecorderFactory {
	if c.recorder == nil {
		return factory
	}
	return func(name string) events.EventRecorderLogger { return bindingRecorder{factory(name), c} }
}

type bindingRecorder struct {
	events.EventRecorderLogger
	cycles *cycles
}

func (r bindingRecorder) WithLogger(log klog.Logger) events.EventRecorderLogger {
	return bindingRecorder{r.EventRecorderLogger.WithLogger(log), r.cycles}
}

func (r bindingRecorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	r.EventRecorderLogger.Eventf(regarding, related, kind, reason, action, note, args...)
	if pod, ok := regarding.(*corev1.Pod); ok && reason == boundReason {
		r.cycles.bound(pod.UID)
	}
}

// boundReason is the reason of the event of a Pod that was bound.
const boundReason = "Scheduled"
