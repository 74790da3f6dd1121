// Package informersync waits until informers have received what was written.
package informersync

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

const (
	// pollInterval is how often the revision of an informer is read, which takes a lock.
	pollInterval = time.Millisecond
	// StallTimeout is how long a restore waits although no informer receives anything. One
	// that has lost its watch may back off for longer.
	StallTimeout = 2 * time.Second
)

// Revisions maps resource prefixes (see storekeys.Key) to the revision of the last
// write of each resource.
type Revisions map[string]int64

func (r Revisions) of(resource schema.GroupResource) int64 {
	return r[storekeys.PrefixOf(resource.Group, resource.Resource)]
}

// WaitTyped returns when the store of every running informer of a factory holds what
// was written. It fails if none of those that are behind receives anything for a time;
// 0 = it waits until ctx ends.
func WaitTyped(ctx context.Context, factory informers.SharedInformerFactory, written Revisions, stall time.Duration) error {
	var behind []informerTarget
	for kind := range factory.WaitForCacheSync(closedChannel) {
		resource, ok := resourceForType(kind)
		if !ok {
			continue
		}
		revision := written.of(resource.GroupResource())
		if revision == 0 {
			continue
		}
		generic, err := factory.ForResource(resource)
		if err != nil {
			continue // no lister: the informer is not shared
		}
		behind = append(behind, informerTarget{resource.GroupResource(), generic.Informer(), revision})
	}
	return waitAll(ctx, behind, stall)
}

// Unsynced returns the resource prefixes of the running informers of a factory that have not synced.
func Unsynced(factory informers.SharedInformerFactory) map[string]bool {
	prefixes := map[string]bool{}
	for kind, synced := range factory.WaitForCacheSync(closedChannel) {
		if resource, ok := resourceForType(kind); ok && !synced {
			prefixes[storekeys.PrefixOf(resource.Group, resource.Resource)] = true
		}
	}
	return prefixes
}

// WaitMetadata is WaitTyped for metadata informers.
func WaitMetadata(ctx context.Context, factory metadatainformer.SharedInformerFactory, written Revisions, stall time.Duration) error {
	var behind []informerTarget
	for resource := range factory.WaitForCacheSync(closedChannel) {
		if revision := written.of(resource.GroupResource()); revision != 0 {
			behind = append(behind, informerTarget{resource.GroupResource(), factory.ForResource(resource).Informer(), revision})
		}
	}
	return waitAll(ctx, behind, stall)
}

// closedChannel makes WaitForCacheSync return what has synced without waiting.
var closedChannel = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// resourceForType returns the resource that an informer of a Go type watches.
func resourceForType(kind reflect.Type) (schema.GroupVersionResource, bool) {
	obj, ok := reflect.New(kind.Elem()).Interface().(runtime.Object)
	if !ok {
		return schema.GroupVersionResource{}, false
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil || len(kinds) == 0 {
		return schema.GroupVersionResource{}, false
	}
	resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return resource, true
}

// informerTarget is an informer and the revision that it should reach.
type informerTarget struct {
	resource schema.GroupResource
	informer cache.SharedIndexInformer
	revision int64
}

// reached returns the revision that the store holds; 0 = it is empty or unknown.
func (l informerTarget) reached() int64 {
	version := l.informer.GetStore().LastStoreSyncResourceVersion()
	if version == "" {
		if !l.informer.HasSynced() {
			return 0 // the first list may be queued: then the store is empty
		}
		// The feature gate AtomicFIFO is off. The store may be behind this by what is queued.
		version = l.informer.LastSyncResourceVersion()
	}
	at, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return 0
	}
	return at
}

func (l informerTarget) isBehind() bool { return l.reached() < l.revision }

func (l informerTarget) String() string {
	return fmt.Sprintf("the informer of %s has received revision %d of %d", l.resource, l.reached(), l.revision)
}

// waitAll returns when no informer is behind, however long that takes while they receive
// something.
func waitAll(ctx context.Context, list []informerTarget, stall time.Duration) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var stalled <-chan time.Time
	var before int64
	for {
		list = slices.DeleteFunc(list, func(l informerTarget) bool { return !l.isBehind() })
		if len(list) == 0 {
			return nil
		}
		if now := sumReached(list); stall > 0 && (stalled == nil || now != before) {
			before, stalled = now, time.After(stall)
		}
		select {
		case <-tick.C:
		case <-stalled:
			return fmt.Errorf("%v, and nothing for %v", list[0], stall)
		case <-ctx.Done():
			return fmt.Errorf("%v: %w", list[0], context.Cause(ctx))
		}
	}
}

// sumReached changes when one of the informers receives something, or when one leaves the list.
func sumReached(list []informerTarget) (sum int64) {
	for _, l := range list {
		sum += l.reached()
	}
	return sum
}
