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
	// namespaceLook is how long after a look at what remains the next one
	// follows at first; the time doubles up to upstream's estimate.
	namespaceLook = 50 * time.Millisecond
	// namespaceRetry and namespaceRetryMax bound the waits after failures, as upstream's.
	namespaceRetry, namespaceRetryMax = 5 * time.Millisecond, time.Minute
)

// namespaceController is upstream's way to delete namespaces, for a lone API
// server: with its deleter, but without its constant waits.
func (s *Supervisor) namespaceController(ctx context.Context, c app.ControllerContext) (app.Controller, error) {
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
	l := &namespaceLoop{
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](namespaceRetry, namespaceRetryMax),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "namespace"}),
		delete: deletion.NewNamespacedResourcesDeleter(ctx, client.CoreV1().Namespaces(), metadataClient, client.CoreV1(),
			client.Discovery().ServerPreferredNamespacedResources, v1.FinalizerKubernetes).Delete,
		looks: map[string]time.Duration{},
	}
	_, err = informer.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
		AddFunc:    l.add,
		UpdateFunc: func(_, obj any) { l.add(obj) },
		DeleteFunc: l.forget,
	}, c.ComponentConfig.NamespaceController.NamespaceSyncPeriod.Duration)
	if err != nil {
		return nil, err
	}
	workers := int(c.ComponentConfig.NamespaceController.ConcurrentNamespaceSyncs)
	return loop{names.NamespaceController, func(ctx context.Context) { l.run(ctx, informer.HasSynced, workers) }}, nil
}

// namespaceLoop deletes what is in the namespaces that are being deleted, and
// then lets them go.
type namespaceLoop struct {
	queue  workqueue.TypedRateLimitingInterface[string]
	delete func(ctx context.Context, name string) error

	mu    sync.Mutex
	looks map[string]time.Duration // the latest wait between two looks at a namespace
}

func (l *namespaceLoop) add(obj any) {
	if ns := obj.(*v1.Namespace); ns.DeletionTimestamp != nil {
		l.queue.AddAfter(ns.Name, namespaceGrace)
	}
}

func (l *namespaceLoop) forget(obj any) {
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil { // else it never was one
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.looks, key)
	}
}

func (l *namespaceLoop) run(ctx context.Context, synced cache.InformerSynced, workers int) {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer l.queue.ShutDown()
	if !cache.WaitForNamedCacheSyncWithContext(ctx, synced) {
		return
	}
	for range workers {
		wg.Go(func() { wait.UntilWithContext(ctx, l.work, time.Second) })
	}
	<-ctx.Done()
}

func (l *namespaceLoop) work(ctx context.Context) {
	for {
		name, ended := l.queue.Get()
		if ended {
			return
		}
		l.sync(ctx, name)
	}
}

func (l *namespaceLoop) sync(ctx context.Context, name string) {
	defer l.queue.Done(name)
	log := klog.FromContext(ctx)
	err := l.delete(ctx, name)
	var remaining *deletion.ResourcesRemainingError
	switch {
	case err == nil:
		l.queue.Forget(name)
		log.V(4).Info("Finished syncing namespace", "namespace", name)
	case errors.As(err, &remaining):
		look := l.next(name, time.Duration(remaining.Estimate/2+1)*time.Second)
		log.V(4).Info("Content remaining in namespace", "namespace", name, "nextLook", look)
		l.queue.AddAfter(name, look)
	default:
		log.Error(err, "Deletion of namespace failed", "namespace", name)
		l.queue.AddRateLimited(name)
	}
}

// next is how long to wait for the next look: upstream's estimate is that of the
// slowest, and most are sooner gone.
func (l *namespaceLoop) next(name string, estimate time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	look := min(max(2*l.looks[name], namespaceLook), estimate)
	l.looks[name] = look
	return look
}
