package controllers

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
)

// startNamespaceController starts a controller, in a bubble of synctest. deleteNamespace sends it the event that the namespace ns
// is marked as deleted, and stop returns when it has ended.
func startNamespaceController(t *testing.T, c *namespaceController) (deleteNamespace, stop func()) {
	c.queue = workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](namespaceRetry, namespaceRetryMax))
	c.drains = map[string]*namespaceWait{}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		c.run(ctx, func() bool { return true }, 1)
	}()
	now := metav1.Now()
	deleteNamespace = func() {
		c.enqueueNamespace(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", DeletionTimestamp: &now}})
	}
	return deleteNamespace, func() {
		cancel()
		<-stopped
	}
}

// The content of a namespace is deleted once the API server has observed its deletion,
// and the writes that were in flight then have ended.
func TestNamespaceWaitsForWritesInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		isDeleted, deleted, ended := true, make(chan string, 10), make(chan struct{})
		var inFlight <-chan struct{}
		c := &namespaceController{
			delete: func(_ context.Context, name string) error {
				deleted <- name
				return nil
			},
			isDeleted: func(string) bool { return isDeleted },
			drain:     func(string) <-chan struct{} { return inFlight },
		}
		deleteNamespace, stop := startNamespaceController(t, c)
		sync := func() []string {
			deleteNamespace()
			<-time.After(2 * namespaceGrace)
			synctest.Wait()
			var names []string
			for len(deleted) > 0 {
				names = append(names, <-deleted)
			}
			return names
		}
		if got := sync(); len(got) != 0 {
			t.Error("deleted before the API server has observed the deletion")
		}
		inFlight = ended
		if got := sync(); len(got) != 0 {
			t.Error("deleted while writes are in flight")
		}
		inFlight = make(chan struct{}) // later writes
		close(ended)
		if got := sync(); len(got) == 0 {
			t.Error("not deleted although the writes have ended")
		}
		isDeleted = false // created again
		if got := sync(); len(got) != 0 || c.queue.Len() != 0 {
			t.Errorf("deleted %v after the namespace was created again", got)
		}
		stop()
	})
}

// A namespace that finalizers of its own keep is synced once for each event, and as soon as the writes have ended.
func TestNamespaceIsSyncedOnceForAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		var deletions []time.Duration
		began := time.Now()
		c := &namespaceController{
			delete:    func(context.Context, string) error { deletions = append(deletions, time.Since(began)); return nil },
			isDeleted: func(string) bool { return true },
			drain:     func(string) <-chan struct{} { return ended },
		}
		deleteNamespace, stop := startNamespaceController(t, c)
		deleteNamespace()
		const takes = 5*namespaceGrace + time.Millisecond // not when a check is due
		time.Sleep(takes)
		close(ended)
		time.Sleep(time.Minute)
		stop()
		if len(deletions) == 0 || deletions[0] != takes || len(deletions) > 2 { // the check that was due comes, too
			t.Errorf("deleted after %v, want once or twice, after %v first", deletions, takes)
		}
	})
}

// While other API servers may admit writes for 5 s, the checks are as rare as those of a controller that polls.
func TestNamespaceWaitIsNoHotLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 5 * time.Second
		ended, deleted := make(chan struct{}), make(chan time.Time, 1)
		time.AfterFunc(takes, func() { close(ended) })
		var checks atomic.Int32
		c := &namespaceController{
			delete: func(context.Context, string) error { deleted <- time.Now(); return nil },
			isDeleted: func(string) bool {
				checks.Add(1)
				return true
			},
			drain: func(string) <-chan struct{} { return ended },
		}
		deleteNamespace, stop := startNamespaceController(t, c)
		began := time.Now()
		deleteNamespace()
		if took := (<-deleted).Sub(began); took < takes || took > takes+maxNamespaceGrace {
			t.Errorf("deleted after %v", took)
		}
		if n := checks.Load(); n > 10 {
			t.Errorf("%d checks in %v", n, takes)
		}
		stop()
	})
}
