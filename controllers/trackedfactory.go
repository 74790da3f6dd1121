package controllers

import (
	"context"
	"reflect"
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

	mu    sync.Mutex
	lists map[cache.SharedIndexInformer]*listError
	kinds map[reflect.Type]cache.SharedIndexInformer // by the type of their objects
}

// listError is the latest error of an informer's lists. It is not a part of the factory, which the caches of all
// informers belong to: the informer keeps it, and one that is lent outlives the others.
type listError struct {
	mu  sync.Mutex
	err error // nil: none yet, or one that may pass by itself
}

func (l *listError) set(err error) {
	if mayPass(err) {
		err = nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *listError) get() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func newTrackedFactory(factory informers.SharedInformerFactory) *trackedFactory {
	return &trackedFactory{SharedInformerFactory: factory, lists: map[cache.SharedIndexInformer]*listError{}, kinds: map[reflect.Type]cache.SharedIndexInformer{}}
}

func (f *trackedFactory) InformerFor(obj runtime.Object, build internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	informer := f.SharedInformerFactory.InformerFor(obj, build)
	f.track(informer)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kinds[reflect.TypeOf(obj)] = informer
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
	if _, tracked := f.lists[informer]; tracked {
		return
	}
	list := &listError{}
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		list.set(err)
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	if err == nil {
		f.lists[informer] = list
	}
}

// errorOf returns why a kind cannot be listed; nil if it has been, or if its list is in progress.
func (f *trackedFactory) errorOf(kind reflect.Type) error {
	f.mu.Lock()
	informer := f.kinds[kind]
	list := f.lists[informer]
	f.mu.Unlock()
	if list == nil || informer.HasSynced() {
		return nil
	}
	return list.get()
}

// mayPass reports whether an error only asks the client to try again, as while the API server
// reads many objects.
func mayPass(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// unlisted returns why kinds cannot be listed, and how many other lists are in progress. They may be so forever: a
// reflector tries some errors again without a call of the handler.
func (f *trackedFactory) unlisted() (reasons []string, inProgress int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for informer, list := range f.lists {
		err := list.get()
		switch {
		case informer.HasSynced():
		case err == nil:
			inProgress++
		default:
			reasons = append(reasons, err.Error())
		}
	}
	slices.Sort(reasons)
	return reasons, inProgress
}
