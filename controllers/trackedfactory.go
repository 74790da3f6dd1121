package controllers

import (
	"context"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/tools/cache"
)

// trackedFactory provides informers, and keeps the latest errors of their lists.
type trackedFactory struct {
	informers.SharedInformerFactory

	mu     sync.Mutex
	errors map[cache.SharedIndexInformer]error // nil: none yet, or one that may pass by itself
}

func newTrackedFactory(factory informers.SharedInformerFactory) *trackedFactory {
	return &trackedFactory{SharedInformerFactory: factory, errors: map[cache.SharedIndexInformer]error{}}
}

func (f *trackedFactory) InformerFor(obj runtime.Object, build internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	informer := f.SharedInformerFactory.InformerFor(obj, build)
	f.track(informer)
	return informer
}

func (f *trackedFactory) ForResource(gvr schema.GroupVersionResource) (informers.GenericInformer, error) {
	generic, err := f.SharedInformerFactory.ForResource(gvr)
	if err == nil {
		f.track(generic.Informer())
	}
	return generic, err
}

// track has no effect on an informer that runs.
func (f *trackedFactory) track(informer cache.SharedIndexInformer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, tracked := f.errors[informer]; tracked {
		return
	}
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		f.noteError(informer, err)
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	if err == nil {
		f.errors[informer] = nil
	}
}

func (f *trackedFactory) noteError(informer cache.SharedIndexInformer, err error) {
	if mayPass(err) {
		err = nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errors[informer] = err
}

// mayPass reports whether an error only asks the client to try again, as while the API server
// reads many objects.
func mayPass(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// unlisted returns why kinds cannot be listed, and whether other lists are in progress.
func (f *trackedFactory) unlisted() (reasons []string, inProgress bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for informer, err := range f.errors {
		switch {
		case informer.HasSynced():
		case err == nil:
			inProgress = true
		default:
			reasons = append(reasons, err.Error())
		}
	}
	slices.Sort(reasons)
	return reasons, inProgress
}
