package controllers

import (
	"context"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/cache"
	"k8s.io/controller-manager/controller"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

const (
	// A kind is served a moment after its definition says so: the garbage
	// collector looks for it collectAfter a change, then each collectEvery for
	// collectFor.
	crdSyncDelay   = 250 * time.Millisecond
	crdSyncPeriod  = time.Second
	crdSyncTimeout = 3500 * time.Millisecond
)

// garbageCollector is what upstream's garbage collector can do.
type garbageCollector interface {
	app.Controller
	controller.Debuggable
	Sync(ctx context.Context, kinds discovery.ServerResourcesInterface, period time.Duration)
}

// crdAwareGC looks for new kinds when there are some. Upstream's looks every
// 30 s, and until then leaves behind what their objects own.
type crdAwareGC struct {
	garbageCollector
	discovery discovery.ServerResourcesInterface
	crds      cache.SharedIndexInformer // of custom resource definitions
}

// newCRDAwareGC wraps upstream's garbage collector; anything else stays as it is.
func newCRDAwareGC(c app.ControllerContext, made app.Controller) (app.Controller, error) {
	upstream, ok := made.(garbageCollector)
	if !ok {
		return made, nil
	}
	kinds, err := c.ClientBuilder.DiscoveryClient("generic-garbage-collector")
	if err != nil {
		return nil, err
	}
	changes, err := c.ObjectOrMetadataInformerFactory.ForResource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	if err != nil {
		return nil, err
	}
	return &crdAwareGC{upstream, kinds, changes.Informer()}, nil
}

// Run implements app.Controller.
func (e *crdAwareGC) Run(ctx context.Context) {
	changed := make(chan struct{}, 1)
	tell := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	registered, err := e.crds.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(_ any, listed bool) {
			if !listed { // upstream's first look sees those
				tell()
			}
		},
		UpdateFunc: func(_, _ any) { tell() },
		DeleteFunc: func(any) { tell() },
	})
	if err != nil { // the informer has ended: so does ctx
		e.garbageCollector.Run(ctx)
		return
	}
	defer e.crds.RemoveEventHandler(registered)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { e.watchCRDs(ctx, changed) })
	e.garbageCollector.Run(ctx)
}

// watchCRDs has upstream look again after each change.
func (e *crdAwareGC) watchCRDs(ctx context.Context, changed <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		for again := true; again; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(crdSyncDelay):
			}
			again = e.resync(ctx, changed)
		}
	}
}

// resync returns when upstream has looked for a while, or at the next change;
// again says which.
func (e *crdAwareGC) resync(ctx context.Context, changed <-chan struct{}) (again bool) {
	ctx, cancel := context.WithTimeout(ctx, crdSyncTimeout)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.garbageCollector.Sync(ctx, e.discovery, crdSyncPeriod)
	}()
	select {
	case <-changed:
		again = true
	case <-ended:
	}
	cancel()
	<-ended
	return again
}
