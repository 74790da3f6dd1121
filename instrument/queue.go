package instrument

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type (
	rateLimiter = workqueue.TypedRateLimiter[reconcile.Request]
	workQueue   = workqueue.TypedRateLimitingInterface[reconcile.Request]
	newQueue    = func(name string, limiter rateLimiter) workQueue
)

// queue is a controller's queue that notes which keys are added, taken and done.
type queue struct {
	workQueue
	controller *controller
}

// priorityQueue is the same for controller-runtime's own kind of queue.
type priorityQueue struct {
	queue
	inner priorityqueue.PriorityQueue[reconcile.Request]
}

// wrapQueue returns a constructor of queues that are observed by c.
func wrapQueue(c *controller, create newQueue) newQueue {
	return func(name string, limiter rateLimiter) workQueue {
		if c.reporter.isOff() {
			return create(name, limiter)
		}
		inner := create(name, &limiterOf{limiter, c.keys})
		c.queue.Store(&inner)
		observed := queue{inner, c}
		if p, ok := inner.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
			return &priorityQueue{observed, p}
		}
		c.keys.keepApart()
		return &observed
	}
}

// note notes that the calling goroutine adds keys.
func (q *queue) note(after time.Duration, limited bool, keys ...reconcile.Request) {
	if q.controller.reporter.isOff() {
		return
	}
	by := q.controller.reporter.goroutines.current()
	for _, key := range keys {
		q.controller.keys.add(key, by, after, limited)
	}
}

func (q *queue) Add(key reconcile.Request) {
	q.note(0, false, key)
	q.workQueue.Add(key)
}

func (q *queue) AddAfter(key reconcile.Request, after time.Duration) {
	q.note(after, false, key)
	q.workQueue.AddAfter(key, after)
}

func (q *queue) AddRateLimited(key reconcile.Request) {
	q.note(0, true, key)
	q.workQueue.AddRateLimited(key)
}

func (q *queue) Get() (key reconcile.Request, shutdown bool) {
	q.controller.setState(working)
	key, shutdown = q.workQueue.Get()
	if !shutdown {
		q.controller.begin(key)
	}
	return key, shutdown
}

func (q *queue) Done(key reconcile.Request) {
	q.controller.end(key)
	q.workQueue.Done(key)
}

// AddWithOpts implements priorityqueue.PriorityQueue.
func (q *priorityQueue) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	q.note(o.After, o.RateLimited, items...)
	q.inner.AddWithOpts(o, items...)
}

// GetWithPriority implements priorityqueue.PriorityQueue.
func (q *priorityQueue) GetWithPriority() (key reconcile.Request, priority int, shutdown bool) {
	q.controller.setState(working)
	key, priority, shutdown = q.inner.GetWithPriority()
	if !shutdown {
		q.controller.begin(key)
	}
	return key, priority, shutdown
}

// limiterOf is a rate limiter that notes the delays that it chooses.
type limiterOf struct {
	rateLimiter
	keys *keys
}

// When implements workqueue.TypedRateLimiter.
func (l *limiterOf) When(key reconcile.Request) time.Duration {
	delay := l.rateLimiter.When(key)
	l.keys.limit(key, delay)
	return delay
}
