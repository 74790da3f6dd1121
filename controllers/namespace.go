package controllers

import (
	"context"
	"errors"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/namespace/deletion"
)

const (
	// namespaceGrace is the delay before the content of a namespace is deleted, and
	// before it is checked again whether the creates that are older than the deletion have ended.
	// Upstream waits for 5 s instead: it does not know which creates are in flight.
	namespaceGrace = 100 * time.Millisecond
	// maxNamespaceGrace limits the delay between these checks, which doubles: a loop at short intervals would be reported
	// as one that never rests. With a longer one, the control plane would be settled meanwhile.
	maxNamespaceGrace = time.Second
	// namespaceRecheck is the first delay after which the remaining content is
	// checked again. It doubles up to upstream's estimate.
	namespaceRecheck = 50 * time.Millisecond
	// namespaceRetry and namespaceRetryMax limit the backoff after failures, as upstream's.
	namespaceRetry, namespaceRetryMax = 5 * time.Millisecond, time.Minute
)

// newNamespaceController returns a namespace controller for a single API server. It
// uses upstream's deleter, but not upstream's constant delays.
func (s *Supervisor) newNamespaceController(ctx context.Context, c app.ControllerContext) (app.Controller, error) {
	config, err := c.NewClientConfig("namespace-controller")
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	namespaces := c.InformerFactory.Core().V1().Namespaces()
	informer, lister := namespaces.Informer(), namespaces.Lister()
	controller := &namespaceController{
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](namespaceRetry, namespaceRetryMax),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "namespace"}),
		delete: deletion.NewNamespacedResourcesDeleter(ctx, client.CoreV1().Namespaces(), metadataClient, client.CoreV1(),
			client.Discovery().ServerPreferredNamespacedResources, v1.FinalizerKubernetes).Delete,
		isDeleted: func(name string) bool {
			ns, err := lister.Get(name)
			return err == nil && ns.DeletionTimestamp != nil
		},
		drain:    s.api.DrainNamespace,
		drains:   map[string]*namespaceWait{},
		rechecks: map[string]time.Duration{},
	}
	_, err = informer.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
		AddFunc:    controller.enqueueNamespace,
		UpdateFunc: func(_, obj any) { controller.enqueueNamespace(obj) },
		DeleteFunc: controller.forgetNamespace,
	}, c.ComponentConfig.NamespaceController.NamespaceSyncPeriod.Duration)
	if err != nil {
		return nil, err
	}
	workers := int(c.ComponentConfig.NamespaceController.ConcurrentNamespaceSyncs)
	return funcController{names.NamespaceController, func(ctx context.Context) { controller.run(ctx, informer.HasSynced, workers) }}, nil
}

// namespaceController deletes the content of namespaces that are being deleted,
// and then removes their finalizer.
type namespaceController struct {
	queue     workqueue.TypedRateLimitingInterface[string]
	isDeleted func(name string) bool // whether a namespace exists and is being deleted
	delete    func(ctx context.Context, name string) error
	drain     func(name string) <-chan struct{} // see APIServer.DrainNamespace

	mu       sync.Mutex
	drains   map[string]*namespaceWait // by namespace; from the first check until it is gone
	rechecks map[string]time.Duration  // the latest delay, by namespace
}

// namespaceWait is the wait for the writes that were admitted before a namespace was deleted.
type namespaceWait struct {
	ended   <-chan struct{} // nil until the API server has observed the deletion
	awaited bool            // a goroutine adds the key when they have ended
	delay   time.Duration   // the latest, between two checks
}

func (c *namespaceController) enqueueNamespace(obj any) {
	if ns := obj.(*v1.Namespace); ns.DeletionTimestamp != nil {
		c.queue.AddAfter(ns.Name, namespaceGrace)
	}
}

func (c *namespaceController) forgetNamespace(obj any) {
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil { // otherwise it was never queued
		c.forgetName(key)
	}
}

func (c *namespaceController) forgetName(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.rechecks, name)
	delete(c.drains, name)
}

func (c *namespaceController) run(ctx context.Context, synced cache.InformerSynced, workers int) {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer c.queue.ShutDown()
	if !cache.WaitForNamedCacheSyncWithContext(ctx, synced) {
		return
	}
	for range workers {
		wg.Go(func() { wait.UntilWithContext(ctx, c.runWorker, time.Second) })
	}
	<-ctx.Done()
}

func (c *namespaceController) runWorker(ctx context.Context) {
	for {
		name, ended := c.queue.Get()
		if ended {
			return
		}
		c.syncNamespace(ctx, name)
	}
}

func (c *namespaceController) syncNamespace(ctx context.Context, name string) {
	defer c.queue.Done(name)
	log := klog.FromContext(ctx)
	log.V(4).Info("Syncing namespace", "namespace", name)
	if !c.isDeleted(name) { // it is gone, or was created again
		c.queue.Forget(name)
		c.forgetName(name)
		return
	}
	if delay := c.untilDrained(ctx, name); delay > 0 {
		if delay == namespaceGrace { // trace shows the first check's line
			log.V(2).Info("Waiting for writes that were admitted before the deletion of the namespace", "namespace", name)
		}
		c.queue.AddAfter(name, delay)
		return
	}
	err := c.delete(ctx, name)
	var remaining *deletion.ResourcesRemainingError
	switch {
	case err == nil: // the namespace is gone
		c.queue.Forget(name)
		c.forgetName(name)
		log.V(4).Info("Finished syncing namespace", "namespace", name)
	case errors.As(err, &remaining):
		delay := c.nextRecheck(name, time.Duration(remaining.Estimate/2+1)*time.Second)
		log.V(4).Info("Content remaining in namespace", "namespace", name, "nextCheck", delay)
		c.queue.AddAfter(name, delay)
	default:
		log.Error(err, "Deletion of namespace failed", "namespace", name)
		c.queue.AddRateLimited(name)
	}
}

// untilDrained returns after which delay to check again whether the writes have ended that were admitted before a
// namespace was deleted; 0 if they have. Writes that begin after the first check do not delay it. The key is added as soon as
// they have, too; the checks keep the control plane from being settled meanwhile.
func (c *namespaceController) untilDrained(ctx context.Context, name string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.drains[name]
	if w == nil {
		w = &namespaceWait{}
		c.drains[name] = w
	}
	if w.ended == nil {
		w.ended = c.drain(name)
	}
	select {
	case <-w.ended:
		return 0
	default:
		if w.ended != nil && !w.awaited {
			w.awaited = true
			go c.addWhenEnded(ctx, name, w.ended)
		}
		w.delay = min(max(2*w.delay, namespaceGrace), maxNamespaceGrace)
		return w.delay
	}
}

func (c *namespaceController) addWhenEnded(ctx context.Context, name string, ended <-chan struct{}) {
	select {
	case <-ended:
		c.queue.Add(name)
	case <-ctx.Done():
	}
}

// nextRecheck returns the delay before the next check. Upstream's estimate is that
// of the slowest resource; most content is gone sooner.
func (c *namespaceController) nextRecheck(name string, estimate time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	delay := min(max(2*c.rechecks[name], namespaceRecheck), estimate)
	c.rechecks[name] = delay
	return delay
}
