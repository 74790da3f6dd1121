package apiserver

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/metadata"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// Without a watch cache each watch decodes every event of its kind, twice if it has a
// selector. That is cheaper than a cache of all kinds, nearly all of which have a single
// watch, and much dearer for a kind with a hundred. Such a kind gets upstream's watch
// cache, for its watches only, for as long as they last.

const (
	// unsharedWatches is how many watches of the same objects read the storage themselves.
	unsharedWatches = 8
	// maxCacheWait is how long a watch waits for a cache that reads the objects.
	maxCacheWait = 5 * time.Second
)

// shareWatches makes upstream's storages share the watches of kinds that have many.
func shareWatches(config *app.Config) {
	for _, getter := range []*generic.RESTOptionsGetter{
		&config.KubeAPIs.ControlPlane.Generic.RESTOptionsGetter,
		&config.ApiExtensions.GenericConfig.RESTOptionsGetter,
		&config.ApiExtensions.ExtraConfig.CRDRESTOptionsGetter,
	} {
		*getter = watchSharingOptions{*getter}
	}
}

// watchSharingOptions are upstream's options of storages that have no watch cache.
type watchSharingOptions struct{ generic.RESTOptionsGetter }

func (g watchSharingOptions) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	o, err := g.RESTOptionsGetter.GetRESTOptions(resource, example)
	o.Decorator = newWatchSharer
	return o, err
}

// newWatchSharer is a generic.StorageDecorator.
func newWatchSharer(
	config *storagebackend.ConfigForResource,
	resourcePrefix string,
	keyFunc func(runtime.Object) (string, error),
	newFunc, newListFunc func() runtime.Object,
	getAttrs storage.AttrFunc,
	triggers storage.IndexerFuncs,
	indexers *cache.Indexers,
) (storage.Interface, factory.DestroyFunc, error) {
	s, destroy, err := generic.NewRawStorage(config, newFunc, newListFunc, resourcePrefix)
	if err != nil || isEvents(config.GroupResource) {
		return s, destroy, err
	}
	w := &watchSharer{Interface: s, open: map[string]int{}, newCache: func() (*cacher.Cacher, error) {
		return cacher.NewCacherFromConfig(cacher.Config{
			Storage:             cacheStorage{s},
			Versioner:           s.Versioner(),
			GroupResource:       config.GroupResource,
			EventsHistoryWindow: config.EventsHistoryWindow,
			ResourcePrefix:      resourcePrefix,
			KeyFunc:             keyFunc,
			NewFunc:             newFunc,
			NewListFunc:         newListFunc,
			GetAttrsFunc:        getAttrs,
			IndexerFuncs:        triggers,
			Indexers:            indexers,
			Codec:               config.Codec,
		})
	}}
	return w, func() { w.close(); destroy() }, nil
}

// isEvents reports whether a resource is that of Events, for which upstream has no watch cache
// either. The Events of a lease expire together, in one revision: a watch that a cache ends
// within it could not go on without missing the others.
func isEvents(r schema.GroupResource) bool {
	return r.Resource == "events" && (r.Group == "" || r.Group == eventsv1.GroupName)
}

// cacheStorage is a storage as its cache uses it.
type cacheStorage struct{ storage.Interface }

// EnableResourceSizeEstimation does nothing: a storage in use cannot begin to estimate the
// sizes of its objects.
func (cacheStorage) EnableResourceSizeEstimation(storage.KeysFunc) error { return nil }

// Watch implements storage.Interface.
func (s cacheStorage) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	return s.Interface.Watch(withOwnStream(ctx), key, opts)
}

// RequestWatchProgress implements storage.Interface.
func (s cacheStorage) RequestWatchProgress(ctx context.Context) error {
	return s.Interface.RequestWatchProgress(withOwnStream(ctx))
}

// withOwnStream separates the watch of a cache from those of clients: etcd reports the progress
// that a cache requests to all watches of a stream, and clients would get a bookmark each time.
func withOwnStream(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "source", "cache")
}

// watchSharer is a storage without a watch cache, except for the watches of objects that
// many watch.
type watchSharer struct {
	storage.Interface
	newCache func() (*cacher.Cacher, error)

	mu     sync.Mutex
	open   map[string]int // watches, by key
	shared int            // watches that began with a cache
	cache  *cacher.Cacher // nil while there is none
	closed bool
}

// Watch implements storage.Interface.
func (s *watchSharer) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	if !opts.Recursive { // a single object: the store sends only its events
		return s.Interface.Watch(ctx, key, opts)
	}
	cache := s.begin(ctx, key)
	context.AfterFunc(ctx, func() { s.end(key, cache != nil) })
	if cache != nil && s.isServedFromCache(ctx, cache, opts) {
		return openSharedWatch(ctx, s.Interface, cache, key, opts)
	}
	return s.Interface.Watch(ctx, key, opts)
}

// begin counts a watch, and returns the cache if there are enough of them for one.
func (s *watchSharer) begin(ctx context.Context, key string) *cacher.Cacher {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[key]++
	if s.open[key] <= unsharedWatches || s.closed {
		return nil
	}
	if s.cache == nil {
		var err error
		if s.cache, err = s.newCache(); err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "Watches of a resource cannot be shared", "key", key)
			s.cache, s.closed = nil, true
			return nil
		}
	}
	s.shared++
	return s.cache
}

// isServedFromCache reports whether the cache can serve a watch as the store would: all
// events after a version, or the objects of now and the events after them. Without a
// version, the cache would begin with objects of a moment ago.
func (s *watchSharer) isServedFromCache(ctx context.Context, cache *cacher.Cacher, opts storage.ListOptions) bool {
	version, err := s.Versioner().ParseResourceVersion(opts.ResourceVersion)
	if err != nil {
		return false
	}
	waiting, cancel := context.WithTimeout(ctx, maxCacheWait)
	defer cancel()
	if cache.Wait(waiting) != nil {
		return false
	}
	if opts.SendInitialEvents != nil {
		return *opts.SendInitialEvents && opts.ResourceVersion != "0"
	}
	return version > 0
}

// end ends a watch, and the cache that nothing needs any more.
func (s *watchSharer) end(key string, shared bool) {
	s.mu.Lock()
	if s.open[key]--; s.open[key] == 0 {
		delete(s.open, key)
	}
	if shared {
		s.shared--
	}
	var unneeded *cacher.Cacher
	if s.shared == 0 && !s.isCrowded() {
		unneeded = s.takeCache()
	}
	s.mu.Unlock()
	if unneeded != nil {
		unneeded.Stop()
	}
}

func (s *watchSharer) isCrowded() bool {
	for _, n := range s.open {
		if n > unsharedWatches {
			return true
		}
	}
	return false
}

// takeCache removes the cache. The caller holds the lock, and stops the cache without it.
func (s *watchSharer) takeCache() *cacher.Cacher {
	c := s.cache
	s.cache = nil
	return c
}

// close ends the cache for good.
func (s *watchSharer) close() {
	s.mu.Lock()
	s.closed = true
	c := s.takeCache()
	s.mu.Unlock()
	if c != nil {
		c.Stop()
	}
}
