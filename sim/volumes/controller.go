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

// controller is one run of the provisioner. The keys of its queue are claims, and
// volumes as keys without a namespace.
type controller struct {
	bindingMode storagev1.VolumeBindingMode
	client      kubernetes.Interface
	claims      corelisters.PersistentVolumeClaimLister
	volumes     corelisters.PersistentVolumeLister
	nodes       corelisters.NodeLister
	classes     storagelisters.StorageClassLister
	drivers     storagelisters.CSIDriverLister
	synced      []cache.DoneChecker
	queue       workqueue.TypedRateLimitingInterface[cache.ObjectName]
	events      record.EventRecorder // set by run
}

// Build creates the controller, before the informers start. The function that it
// returns runs the controller, once, until the context ends.
func (p *Provisioner) Build(e Environment) (run func(context.Context), err error) {
	client, err := e.Client(Name)
	if err != nil {
		return nil, fmt.Errorf("volume provisioner: client: %w", err)
	}
	core, storage := e.Informers.Core().V1(), e.Informers.Storage().V1()
	ctrl := &controller{
		bindingMode: p.bindingMode,
		client:      client,
		claims:      core.PersistentVolumeClaims().Lister(),
		volumes:     core.PersistentVolumes().Lister(),
		nodes:       core.Nodes().Lister(),
		classes:     storage.StorageClasses().Lister(),
		drivers:     storage.CSIDrivers().Lister(),
		synced: []cache.DoneChecker{
			core.Nodes().Informer().HasSyncedChecker(),
			storage.StorageClasses().Informer().HasSyncedChecker(),
			storage.CSIDrivers().Informer().HasSyncedChecker(),
		},
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName](),
			workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{Name: queueName}),
	}
	for informer, enqueue := range map[cache.SharedIndexInformer]func(any){
		core.PersistentVolumeClaims().Informer(): ctrl.enqueueClaim,
		core.PersistentVolumes().Informer():      ctrl.enqueueVolume,
	} {
		reg, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    enqueue,
			UpdateFunc: func(_, obj any) { enqueue(obj) },
		})
		if err != nil {
			ctrl.queue.ShutDown()
			return nil, fmt.Errorf("volume provisioner: event handler: %w", err)
		}
		ctrl.synced = append(ctrl.synced, reg.HasSyncedChecker())
	}
	return ctrl.run, nil
}

// enqueueClaim adds claims that need a volume or a larger one.
func (ctrl *controller) enqueueClaim(obj any) {
	if c, ok := obj.(*corev1.PersistentVolumeClaim); ok && (needsVolume(c) || needsExpansion(c)) {
		ctrl.queue.Add(cache.MetaObjectToName(c))
	}
}

// enqueueVolume adds volumes that are to be deleted.
func (ctrl *controller) enqueueVolume(obj any) {
	if v, ok := obj.(*corev1.PersistentVolume); ok && isReclaimable(v) {
		ctrl.queue.Add(cache.MetaObjectToName(v))
	}
}

func (ctrl *controller) run(ctx context.Context) {
	defer ctrl.queue.ShutDown()
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: ctrl.client.CoreV1().Events("")})
	ctrl.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: Name})
	if !cache.WaitFor(ctx, "", ctrl.synced...) || ctrl.ensureDefaultsWithRetry(ctx) != nil {
		return // the context has ended
	}
	var running sync.WaitGroup
	defer running.Wait()
	for range workers {
		running.Go(func() {
			for ctrl.processNext(ctx) {
			}
		})
	}
	<-ctx.Done()
	ctrl.queue.ShutDown()
}

// processNext processes one key. It returns false when the queue has shut down.
func (ctrl *controller) processNext(ctx context.Context) bool {
	key, shutdown := ctrl.queue.Get()
	if shutdown {
		return false
	}
	defer ctrl.queue.Done(key)
	if err := ctrl.syncKey(ctx, key); err != nil {
		if ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Volume provisioner: sync failed, will retry", "key", key.String())
		}
		ctrl.queue.AddRateLimited(key)
		return true
	}
	ctrl.queue.Forget(key)
	return true
}

func (ctrl *controller) syncKey(ctx context.Context, key cache.ObjectName) error {
	if key.Namespace == "" {
		return ctrl.reclaimVolume(ctx, key.Name)
	}
	if err := ctrl.provisionClaim(ctx, key); err != nil {
		return err
	}
	return ctrl.expandClaim(ctx, key)
}
