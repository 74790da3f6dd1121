package container

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// feed watches a kind of object, from its first use on. It is the store of the
// watch's reflector and keeps nothing itself.
type feed struct {
	name   string
	object runtime.Object
	from   *cache.ListWatch
	// onChange is called for each object that was added, changed or deleted.
	onChange func(object metav1.Object, deleted bool)
	// onList is called with the objects that exist, after a watch has ended.
	onList func(objects []metav1.Object)

	start  sync.Once
	synced chan struct{}
	first  sync.Once
}

// await starts the watch and returns when it has listed the objects.
func (f *feed) await(ctx context.Context, s *session) error {
	f.start.Do(func() {
		from := cache.ToListWatcherWithWatchListSemantics(f.from, s.client)
		reflector := cache.NewReflectorWithOptions(from, f.object, feedStore{f}, cache.ReflectorOptions{Name: "ctrlplane-containers/" + f.name})
		s.wg.Go(func() { reflector.RunWithContext(s.ctx) })
	})
	select {
	case <-f.synced:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("list %s: %w", f.name, context.Cause(ctx))
	}
}

// feedStore is the store of a feed's reflector.
type feedStore struct{ *feed }

var _ cache.ReflectorStore = feedStore{}

// Add implements cache.ReflectorStore.
func (f feedStore) Add(obj any) error { return f.pass(obj, false) }

// Update implements cache.ReflectorStore.
func (f feedStore) Update(obj any) error { return f.pass(obj, false) }

// Delete implements cache.ReflectorStore.
func (f feedStore) Delete(obj any) error { return f.pass(obj, true) }

func (f feedStore) pass(obj any, deleted bool) error {
	object, ok := obj.(metav1.Object)
	if !ok {
		return fmt.Errorf("the watch of %s delivered a %T", f.name, obj)
	}
	f.onChange(object, deleted)
	return nil
}

// Replace implements cache.ReflectorStore.
func (f feedStore) Replace(list []any, _ string) error {
	objects := make([]metav1.Object, 0, len(list))
	for _, obj := range list {
		object, ok := obj.(metav1.Object)
		if !ok {
			return fmt.Errorf("the list of %s contains a %T", f.name, obj)
		}
		objects = append(objects, object)
	}
	f.onList(objects)
	f.first.Do(func() { close(f.synced) })
	return nil
}

// Resync implements cache.ReflectorStore.
func (f feedStore) Resync() error { return nil }

// serviceStore keeps the Services.
type serviceStore struct {
	mu    sync.RWMutex
	byKey map[string]map[string]*corev1.Service // by namespace and name
}

func (s *serviceStore) set(object metav1.Object, deleted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apply(object, deleted)
}

// apply requires the lock.
func (s *serviceStore) apply(object metav1.Object, deleted bool) {
	service := object.(*corev1.Service)
	if deleted {
		delete(s.byKey[service.Namespace], service.Name)
		return
	}
	if s.byKey[service.Namespace] == nil {
		s.byKey[service.Namespace] = map[string]*corev1.Service{}
	}
	s.byKey[service.Namespace][service.Name] = service
}

func (s *serviceStore) replace(objects []metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byKey = map[string]map[string]*corev1.Service{}
	for _, object := range objects {
		s.apply(object, false)
	}
}

// in returns the Services of a namespace.
func (s *serviceStore) in(namespace string) []*corev1.Service {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var list []*corev1.Service
	for _, service := range s.byKey[namespace] {
		list = append(list, service)
	}
	return list
}

// get returns a Service; nil if there is none.
func (s *serviceStore) get(namespace, name string) *corev1.Service {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byKey[namespace][name]
}

// at returns the Service with a port of an address that all nodes forward to its Pods; nil if it does not exist.
func (s *serviceStore) at(address string, port int) *corev1.Service {
	return s.find(func(service *corev1.Service) bool {
		return portIndex(service, port) >= 0 && hasAddress(service, address)
	})
}

// withAddress returns a Service with an address; nil if none has it.
func (s *serviceStore) withAddress(address string) *corev1.Service {
	return s.find(func(service *corev1.Service) bool { return hasAddress(service, address) })
}

func hasAddress(service *corev1.Service, address string) bool {
	return slices.Contains(service.Spec.ClusterIPs, address) || slices.Contains(service.Spec.ExternalIPs, address) ||
		slices.ContainsFunc(service.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) bool { return i.IP == address })
}

// portIndex returns the index of a port of a Service; -1 if it has none.
func portIndex(service *corev1.Service, port int) int {
	return slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == int32(port) && p.Protocol != corev1.ProtocolUDP })
}

// withNodePort returns the Service with a port of the nodes, and the index of its own port for that; nil if it does
// not exist.
func (s *serviceStore) withNodePort(port int) (service *corev1.Service, index int) {
	service = s.find(func(service *corev1.Service) bool {
		index = slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool {
			return p.NodePort == int32(port) && p.Protocol != corev1.ProtocolUDP
		})
		return index >= 0
	})
	return service, index
}

// find returns a Service for which a function is true; nil if it does not exist.
func (s *serviceStore) find(is func(*corev1.Service) bool) *corev1.Service {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, services := range s.byKey {
		for _, service := range services {
			if is(service) {
				return service
			}
		}
	}
	return nil
}
