package controllers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/cache"
	"k8s.io/controller-manager/controller"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"

	"github.com/ctrlplane/ctrlplane/internal/sleep"
)

const (
	// The API server serves a kind shortly after the status of its definition says
	// so. The garbage collector therefore reads the kinds crdSyncDelay after a change,
	// and then every crdSyncPeriod until crdSyncTimeout.
	crdSyncDelay   = 250 * time.Millisecond
	crdSyncPeriod  = time.Second
	crdSyncTimeout = 3500 * time.Millisecond
)

// garbageCollector has the methods of upstream's garbage collector that crdAwareGC uses.
type garbageCollector interface {
	app.Controller
	controller.Debuggable
	Sync(ctx context.Context, kinds discovery.ServerResourcesInterface, period time.Duration)
}

// crdAwareGC is upstream's garbage collector, which monitors objects of new kinds
// soon after their custom resource definitions have changed. Upstream reads the
// kinds every 30 s, and does not collect what their objects own until then.
type crdAwareGC struct {
	garbageCollector
	discovery discovery.ServerResourcesInterface
	crds      cache.SharedIndexInformer
}

// newCRDAwareGC wraps upstream's garbage collector; nil if that declines to run.
// It returns an error if upstream's type has lost a method: without Sync, custom
// resources would be collected late, and nothing else would show it.
func newCRDAwareGC(c app.ControllerContext, built app.Controller) (app.Controller, error) {
	if built == nil {
		return nil, nil
	}
	upstream, ok := built.(garbageCollector)
	if !ok {
		return nil, fmt.Errorf("%T has no method Sync of the expected type", built)
	}
	kinds, err := c.ClientBuilder.DiscoveryClient("generic-garbage-collector")
	if err != nil {
		return nil, err
	}
	crds, err := c.ObjectOrMetadataInformerFactory.ForResource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	if err != nil {
		return nil, err
	}
	return &crdAwareGC{upstream, kinds, crds.Informer()}, nil
}

// Run implements app.Controller.
func (gc *crdAwareGC) Run(ctx context.Context) {
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	registered, err := gc.crds.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(_ any, isInInitialList bool) {
			if !isInInitialList { // upstream reads those kinds when it starts
				notify()
			}
		},
		UpdateFunc: func(_, _ any) { notify() },
		DeleteFunc: func(any) { notify() },
	})
	if err != nil { // the informer has stopped, and ctx ends with it
		gc.garbageCollector.Run(ctx)
		return
	}
	defer func() { _ = gc.crds.RemoveEventHandler(registered) }() // fails only for a stopped informer
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { gc.watchCRDs(ctx, changed) })
	gc.garbageCollector.Run(ctx)
}

// watchCRDs makes upstream read the kinds again after each change.
func (gc *crdAwareGC) watchCRDs(ctx context.Context, changed <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		for again := true; again; {
			if !sleep.For(ctx, crdSyncDelay) {
				return
			}
			again = gc.resyncKinds(ctx, changed)
		}
	}
}

// resyncKinds makes upstream read the kinds until crdSyncTimeout, or until the next
// change. It reports whether there was one.
func (gc *crdAwareGC) resyncKinds(ctx context.Context, changed <-chan struct{}) (changedAgain bool) {
	ctx, cancel := context.WithTimeout(ctx, crdSyncTimeout)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			gc.syncOnce(ctx)
		}
	}()
	select {
	case <-changed:
		changedAgain = true
	case <-ended:
	}
	cancel()
	<-ended
	return changedAgain
}

// syncOnce lasts crdSyncPeriod. A call of Sync sets the monitors when the kinds differ
// from those that it has read before, so each is a new one: upstream's own loop may have
// set them in the meantime, to kinds that it had read before the change.
func (gc *crdAwareGC) syncOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, crdSyncPeriod)
	defer cancel()
	log := klog.FromContext(ctx)
	ctx = klog.NewContext(ctx, log.WithSink(endedSyncSink{log.GetSink(), ctx}))
	gc.garbageCollector.Sync(ctx, gc.discovery, 2*crdSyncPeriod)
}

// endedSyncSink is a logger without the errors of a call of Sync that we have ended: another one follows, or upstream's own loop.
type endedSyncSink struct {
	logr.LogSink
	ctx context.Context
}

func (s endedSyncSink) Error(err error, msg string, kv ...any) {
	if s.ctx.Err() != nil {
		s.Info(0, msg, kv...)
		return
	}
	s.LogSink.Error(err, msg, kv...)
}

func (s endedSyncSink) WithValues(kv ...any) logr.LogSink {
	return endedSyncSink{s.LogSink.WithValues(kv...), s.ctx}
}

func (s endedSyncSink) WithName(name string) logr.LogSink {
	return endedSyncSink{s.LogSink.WithName(name), s.ctx}
}
