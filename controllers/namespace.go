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
	// namespaceGrace is how long a namespace waits for its deletion to begin.
	// Upstream's 5 s are for API servers whose caches lag: a lone one refuses
	// from the deletion on what is created in it, but for what was under way.
	namespaceGrace = 100 * time.Millisecond
	// namespaceRecheck is how long after a look at what remains the next one
	// follows at first; the time doubles up to upstream's estimate.
	namespaceRecheck = 50 * time.Millisecond
	// namespaceRetry and namespaceRetryMax bound the waits after failures, as upstream's.
	namespaceRetry, namespaceRetryMax = 5 * time.Millisecond, time.Minute
)

// newNamespaceController is upstream's way to delete namespaces, for a lone API
// server: with its deleter, but without its constant waits.
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
	informer := c.InformerFactory.Core().V1().Namespaces().Informer()
	l := &namespaceController{
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](namespaceRetry, namespaceRetryMax),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "namespace"}),
		delete: deletion.NewNamespacedResourcesDeleter(ctx, client.CoreV1().Namespaces(), metadataClient, client.CoreV1(),
			client.Discovery().ServerPreferredNamespacedResources, v1.FinalizerKubernetes).Delete,
		rechecks: map[string]time.Duration{},
	}
	_, err = informer.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
		AddFunc:    l.enqueue,
		UpdateFunc: func(_, obj any) { l.enqueue(obj) },
		DeleteFunc: l.forget,
	}, c.ComponentConfig.NamespaceController.NamespaceSyncPeriod.Duration)
	if err != nil {
		return nil, err
	}
	workers := int(c.ComponentConfig.NamespaceController.ConcurrentNamespaceSyncs)
	return funcController{names.NamespaceController, func(ctx context.Context) { l.run(ctx, informer.HasSynced, workers) }}, nil
}

// namespaceController deletes what is in the namespaces that are being deleted, and
// then lets them go.
type namespaceController struct {
	queue  workqueue.TypedRateLimitingInterface[string]
	delete func(ctx context.Context, name string) error

	mu       sync.Mutex
	rechecks map[string]time.Duration // the latest wait between two looks at a namespace
}

func (l *namespaceController) enqueue(obj any) {
	if ns := obj.(*v1.Namespace); ns.DeletionTimestamp != nil {
		l.queue.AddAfter(ns.Name, namespaceGrace)
	}
}

func (l *namespaceController) forget(obj any) {
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil { // else it never was one
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.rechecks, key)
	}
}

func (l *namespaceController) run(ctx context.Context, synced cache.InformerSynced, workers int) {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer l.queue.ShutDown()
	if !cache.WaitForNamedCacheSyncWithContext(ctx, synced) {
		return
	}
	for range workers {
		wg.Go(func() { wait.UntilWithContext(ctx, l.runWorker, time.Second) })
	}
	<-ctx.Done()
}

func (l *namespaceController) runWorker(ctx context.Context) {
	for {
		name, ended := l.queue.Get()
		if ended {
			return
		}
		l.syncNamespace(ctx, name)
	}
}

func (l *namespaceController) syncNamespace(ctx context.Context, name string) {
	defer l.queue.Done(name)
	log := klog.FromContext(ctx)
	err := l.delete(ctx, name)
	var remaining *deletion.ResourcesRemainingError
	switch {
	case err == nil:
		l.queue.Forget(name)
		log.V(4).Info("Finished syncing namespace", "namespace", name)
	case errors.As(err, &remaining):
		look := l.nextRecheck(name, time.Duration(remaining.Estimate/2+1)*time.Second)
		log.V(4).Info("Content remaining in namespace", "namespace", name, "nextLook", look)
		l.queue.AddAfter(name, look)
	default:
		log.Error(err, "Deletion of namespace failed", "namespace", name)
		l.queue.AddRateLimited(name)
	}
}

// nextRecheck is how long to wait for the next look: upstream's estimate is that of the
// slowest, and most are sooner gone.
func (l *namespaceController) nextRecheck(name string, estimate time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	look := min(max(2*l.rechecks[name], namespaceRecheck), estimate)
	l.rechecks[name] = look
	return look
}
