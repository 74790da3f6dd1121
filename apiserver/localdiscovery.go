package apiserver

import (
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// localDiscovery keeps the resources of a service out of discovery once this process
// serves the group again. Upstream asks a service for its resources until the APIService
// is deleted: one that loses its service would stay in discovery as stale, and no
// namespace could be deleted.
type localDiscovery struct {
	aggregated.ResourceManager
	route *localAPIRoute
}

func (d localDiscovery) WithSource(source aggregated.Source) aggregated.ResourceManager {
	m := d.ResourceManager.WithSource(source)
	if source != aggregated.AggregatorSource {
		return m
	}
	s := &serviceDiscovery{ResourceManager: m, route: d.route}
	d.route.discovery = s
	return s
}

// serviceDiscovery is what upstream's aggregator knows of the resources of services.
type serviceDiscovery struct {
	aggregated.ResourceManager
	route *localAPIRoute
	mu    sync.Mutex // orders what is added with the changes of the APIService
}

func (d *serviceDiscovery) AddGroupVersion(group string, version apidiscoveryv2.APIVersionDiscovery) {
	own := d.groupVersion()
	if group != own.Group || version.Version != own.Version {
		d.ResourceManager.AddGroupVersion(group, version)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.route.hasService() {
		d.ResourceManager.AddGroupVersion(group, version)
	}
}

func (d *serviceDiscovery) groupVersion() metav1.GroupVersion {
	spec := d.route.APIService.Spec
	return metav1.GroupVersion{Group: spec.Group, Version: spec.Version}
}

// follow removes the service's resources when the APIService loses its service.
func (d *serviceDiscovery) follow(services cache.SharedInformer) error {
	changed := func(obj any) {
		if s, ok := obj.(*apiregistrationv1.APIService); !ok || s.Name != d.route.APIService.Name || s.Spec.Service != nil {
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.RemoveGroupVersion(d.groupVersion())
	}
	_, err := services.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(_, obj any) { changed(obj) },
	})
	return err
}
