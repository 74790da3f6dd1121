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
	collectAfter = 250 * time.Millisecond
	collectEvery = time.Second
	collectFor   = 3500 * time.Millisecond
)

// collector is what upstream's garbage collector can do.
type collector interface {
	app.Controller
	controller.Debuggable
	Sync(ctx context.Context, kinds discovery.ServerResourcesInterface, period time.Duration)
}

// eagerCollector looks for new kinds when there are some. Upstream's looks every
// 30 s, and until then leaves behind what their objects own.
type eagerCollector struct {
	collector
	kinds   discovery.ServerResourcesInterface
	changes cache.SharedIndexInformer // of custom resource definitions
}

// eager wraps upstream's garbage collector; anything else stays as it is.
func eager(c app.ControllerContext, made app.Controller) (app.Controller, error) {
	upstream, ok := made.(collector)
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
	return &eagerCollector{upstream, kinds, changes.Informer()}, nil
}

// Run implements app.Controller.
func (e *eagerCollector) Run(ctx context.Context) {
	changed := make(chan struct{}, 1)
	tell := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	registered, err := e.changes.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(_ any, listed bool) {
			if !listed { // upstream's first look sees those
				tell()
			}
		},
		UpdateFunc: func(_, _ any) { tell() },
		DeleteFunc: func(any) { tell() },
	})
	if err != nil { // the informer has ended: so does ctx
		e.collector.Run(ctx)
		return
	}
	defer e.changes.RemoveEventHandler(registered)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { e.follow(ctx, changed) })
	e.collector.Run(ctx)
}

// follow has upstream look again after each change.
func (e *eagerCollector) follow(ctx context.Context, changed <-chan struct{}) {
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
			case <-time.After(collectAfter):
			}
			again = e.look(ctx, changed)
		}
	}
}

// look returns when upstream has looked for a while, or at the next change;
// again says which.
func (e *eagerCollector) look(ctx context.Context, changed <-chan struct{}) (again bool) {
	ctx, cancel := context.WithTimeout(ctx, collectFor)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.collector.Sync(ctx, e.kinds, collectEvery)
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
