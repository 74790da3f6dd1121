package volumes

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

const (
	queueName = "volume_provisioner"
	workers   = 4 // as many as upstream's external provisioners
)

// controller is one run of the controller. Its queue holds claims and volumes: the
// latter are the keys without a namespace.
type controller struct {
	bindingMode storagev1.VolumeBindingMode
	client      kubernetes.Interface
	claims      corelisters.PersistentVolumeClaimLister
	volumes     corelisters.PersistentVolumeLister
	nodes       corelisters.NodeLister
	classes     storagelisters.StorageClassLister
	synced      []cache.DoneChecker
	queue       workqueue.TypedRateLimitingInterface[cache.ObjectName]
	events      record.EventRecorder // from when it runs
}

// Build makes the controller, before the informers start. What it returns runs
// it until the context ends, once.
func (p *Provisioner) Build(e Environment) (run func(context.Context), err error) {
	client, err := e.Client(Name)
	if err != nil {
		return nil, fmt.Errorf("volume provisioner: client: %w", err)
	}
	core, storage := e.Informers.Core().V1(), e.Informers.Storage().V1()
	l := &controller{
		bindingMode: p.bindingMode,
		client:      client,
		claims:      core.PersistentVolumeClaims().Lister(),
		volumes:     core.PersistentVolumes().Lister(),
		nodes:       core.Nodes().Lister(),
		classes:     storage.StorageClasses().Lister(),
		synced:      []cache.DoneChecker{core.Nodes().Informer().HasSyncedChecker(), storage.StorageClasses().Informer().HasSyncedChecker()},
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName](),
			workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{Name: queueName}),
	}
	for informer, enqueue := range map[cache.SharedIndexInformer]func(any){
		core.PersistentVolumeClaims().Informer(): l.enqueueClaim,
		core.PersistentVolumes().Informer():      l.enqueueVolume,
	} {
		reg, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    enqueue,
			UpdateFunc: func(_, obj any) { enqueue(obj) },
		})
		if err != nil {
			l.queue.ShutDown()
			return nil, fmt.Errorf("volume provisioner: event handler: %w", err)
		}
		l.synced = append(l.synced, reg.HasSyncedChecker())
	}
	return l.run, nil
}

// enqueueClaim leaves out claims that have what they ask for.
func (l *controller) enqueueClaim(obj any) {
	if c, ok := obj.(*corev1.PersistentVolumeClaim); ok && (needsVolume(c) || needsExpansion(c)) {
		l.queue.Add(cache.MetaObjectToName(c))
	}
}

// enqueueVolume leaves out volumes that are to stay.
func (l *controller) enqueueVolume(obj any) {
	if v, ok := obj.(*corev1.PersistentVolume); ok && isReclaimable(v) {
		l.queue.Add(cache.MetaObjectToName(v))
	}
}

func (l *controller) run(ctx context.Context) {
	defer l.queue.ShutDown()
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: l.client.CoreV1().Events("")})
	l.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: Name})
	if !cache.WaitFor(ctx, "", l.synced...) || l.ensureDefaultsWithRetry(ctx) != nil {
		return // the context has ended
	}
	var running sync.WaitGroup
	defer running.Wait()
	for range workers {
		running.Go(func() {
			for l.processNext(ctx) {
			}
		})
	}
	<-ctx.Done()
	l.queue.ShutDown()
}

// processNext works on one key, and is false when there will be no more.
func (l *controller) processNext(ctx context.Context) bool {
	key, shutdown := l.queue.Get()
	if shutdown {
		return false
	}
	defer l.queue.Done(key)
	if err := l.syncKey(ctx, key); err != nil {
		if ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Volume provisioner: trying again later", "key", key.String())
		}
		l.queue.AddRateLimited(key)
		return true
	}
	l.queue.Forget(key)
	return true
}

func (l *controller) syncKey(ctx context.Context, key cache.ObjectName) error {
	if key.Namespace == "" {
		return l.reclaimVolume(ctx, key.Name)
	}
	if err := l.provisionClaim(ctx, key); err != nil {
		return err
	}
	return l.expandClaim(ctx, key)
}
