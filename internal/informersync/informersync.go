// Package caughtup waits until informers have seen what was written.
package informersync

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// pollInterval is how often an informer is looked at; it is told in a lock.
const pollInterval = time.Millisecond

// Revisions are those of the last write of each resource, by Folder.
type Revisions map[string]int64

// storagePrefixes are where resources are stored whose folder does not bear their name.
var storagePrefixes = map[string]string{
	"nodes":                  "minions",
	"services":               "services/specs",
	"endpoints":              "services/endpoints",
	"replicationcontrollers": "controllers",
	"ingresses":              "ingress",
}

// ResourcePrefix is where the API server stores objects of a resource, as in keys of
// etcd: those of Kubernetes by their name alone.
func ResourcePrefix(resource schema.GroupResource) string {
	if strings.HasSuffix(resource.Group, ".k8s.io") || !strings.Contains(resource.Group, ".") {
		if resource.Group != "apiextensions.k8s.io" && resource.Group != "apiregistration.k8s.io" && scheme.Scheme.IsGroupRegistered(resource.Group) {
			if folder := storagePrefixes[resource.Resource]; folder != "" {
				return folder
			}
			return resource.Resource
		}
	}
	return resource.Group + "/" + resource.Resource
}

// WaitTyped returns when every informer of a factory that runs has in its store
// what was written.
func WaitTyped(ctx context.Context, factory informers.SharedInformerFactory, written Revisions) error {
	var behind []informerTarget
	for kind := range factory.WaitForCacheSync(closedChannel) {
		resource, ok := resourceForType(kind)
		if !ok {
			continue
		}
		revision := written[ResourcePrefix(resource.GroupResource())]
		if revision == 0 {
			continue
		}
		generic, err := factory.ForResource(resource)
		if err != nil {
			continue // it has no listers, and is not shared
		}
		behind = append(behind, informerTarget{resource.GroupResource(), generic.Informer(), revision})
	}
	return waitAll(ctx, behind)
}

// WaitMetadata is Typed for informers of metadata.
func WaitMetadata(ctx context.Context, factory metadatainformer.SharedInformerFactory, written Revisions) error {
	var behind []informerTarget
	for resource := range factory.WaitForCacheSync(closedChannel) {
		if revision := written[ResourcePrefix(resource.GroupResource())]; revision != 0 {
			behind = append(behind, informerTarget{resource.GroupResource(), factory.ForResource(resource).Informer(), revision})
		}
	}
	return waitAll(ctx, behind)
}

// closedChannel is a channel that is closed: nothing is waited for.
var closedChannel = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// resourceForType is what an informer of a Go type watches.
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

// informerTarget is an informer and what it is to reach.
type informerTarget struct {
	resource schema.GroupResource
	informer cache.SharedIndexInformer
	revision int64
}

func (l informerTarget) isBehind() bool {
	at, err := strconv.ParseInt(l.informer.GetStore().LastStoreSyncResourceVersion(), 10, 64)
	return err != nil || at < l.revision
}

func waitAll(ctx context.Context, list []informerTarget) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		list = slices.DeleteFunc(list, func(l informerTarget) bool { return !l.isBehind() })
		if len(list) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the informer of %s has not seen revision %d yet: %w", list[0].resource, list[0].revision, context.Cause(ctx))
		}
	}
}
