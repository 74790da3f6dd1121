package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregatorapiserver "k8s.io/kube-aggregator/pkg/apiserver"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	listers "k8s.io/kube-aggregator/pkg/client/listers/apiregistration/v1"
)

// LocalAPI is an API group that this process serves beside upstream's groups. Its
// APIService names no service, which kubectl shows as "Local". If a user replaces
// the APIService by one that names a service, that service serves the group.
type LocalAPI struct {
	// Disabled leaves the group to others. An APIService that an earlier run has
	// created is deleted.
	Disabled bool
	// APIService registers the only version of the group. It is created if it does
	// not exist.
	APIService *apiregistrationv1.APIService
	// ClusterRoles are created if they do not exist.
	ClusterRoles []*rbacv1.ClusterRole
	// SetDefinitionNames completes the OpenAPI configuration of the server.
	SetDefinitionNames func(*server.Config) error
	// Install adds the group to a server that does not serve yet. The informers are
	// those of the API server.
	Install func(*server.GenericAPIServer, informers.SharedInformerFactory) error
}

// localAPIRoute chooses who answers the requests for a local API: this process, or
// the service that a user's APIService names. Upstream's routing always chooses
// what is installed in the process.
type localAPIRoute struct {
	LocalAPI
	services  listers.APIServiceLister
	proxy     http.Handler      // upstream's proxy to services
	discovery *serviceDiscovery // set by upstream's aggregator; nil if Disabled
}

// newLocalAPIRoute puts the route in front of upstream's routing. The route works
// once it is installed, which must be before the server serves.
func newLocalAPIRoute(config *server.RecommendedConfig, api LocalAPI) (*localAPIRoute, error) {
	r := &localAPIRoute{LocalAPI: api}
	if api.Disabled {
		return r, nil
	}
	if err := api.SetDefinitionNames(&config.Config); err != nil {
		return nil, err
	}
	config.AggregatedDiscoveryGroupManager = localDiscovery{config.AggregatedDiscoveryGroupManager, r}
	wrapInside(config, r.wrap)
	return r, nil
}

// wrap passes requests that a service answers to the proxy.
func (r *localAPIRoute) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if r.isForeign(req.URL.Path) {
			r.proxy.ServeHTTP(w, req)
			return
		}
		h.ServeHTTP(w, req)
	})
}

// isForeign reports whether a service answers requests for this path.
func (r *localAPIRoute) isForeign(path string) bool {
	rest, ok := strings.CutPrefix(path, "/apis/"+r.APIService.Spec.Group)
	if !ok || rest != "" && rest[0] != '/' {
		return false
	}
	return r.hasService()
}

// hasService reports whether the APIService names a service.
func (r *localAPIRoute) hasService() bool {
	service, err := r.services.Get(r.APIService.Name)
	return err == nil && service.Spec.Service != nil // the only error of a lister is NotFound
}

// installGroup adds the group to the server.
func (r *localAPIRoute) installGroup(front *aggregatorapiserver.APIAggregator, shared informers.SharedInformerFactory) error {
	if r.Disabled {
		return nil
	}
	registered := front.APIRegistrationInformers.Apiregistration().V1().APIServices()
	r.services = registered.Lister()
	r.proxy = front.GenericAPIServer.Handler.NonGoRestfulMux
	if err := r.Install(front.GenericAPIServer, shared); err != nil {
		return fmt.Errorf("apiserver: install %s: %w", r.APIService.Spec.Group, err)
	}
	return r.discovery.follow(registered.Informer())
}

// createObjects creates the objects that list and authorize the group. Existing objects
// stay as they are: they may be a user's.
func (r *localAPIRoute) createObjects(ctx context.Context, config *rest.Config) error {
	services, err := aggregator.NewForConfig(config)
	if err != nil {
		return err
	}
	if r.Disabled {
		return r.deleteAPIService(ctx, services)
	}
	if err := createIfMissing(ctx, services.ApiregistrationV1().APIServices(), r.APIService); err != nil {
		return fmt.Errorf("create APIService %s: %w", r.APIService.Name, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	for _, role := range r.ClusterRoles {
		if err := createIfMissing(ctx, client.RbacV1().ClusterRoles(), role); err != nil {
			return fmt.Errorf("create ClusterRole %s: %w", role.Name, err)
		}
	}
	return nil
}

// getCreator is a client of one kind.
type getCreator[T any] interface {
	Get(context.Context, string, metav1.GetOptions) (T, error)
	Create(context.Context, T, metav1.CreateOptions) (T, error)
}

// createIfMissing reads first: a request that fails because the object exists is
// recorded, and looks like a fault.
func createIfMissing[T metav1.Object](ctx context.Context, client getCreator[T], obj T) error {
	_, err := client.Get(ctx, obj.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, obj, metav1.CreateOptions{})
	}
	if apierrors.IsAlreadyExists(err) { // another server of the same storage was faster
		return nil
	}
	return err
}

// deleteAPIService deletes the APIService that an earlier run has created, unless a user
// has replaced it.
func (r *localAPIRoute) deleteAPIService(ctx context.Context, services aggregator.Interface) error {
	client, name := services.ApiregistrationV1().APIServices(), r.APIService.Name
	service, err := client.Get(ctx, name, metav1.GetOptions{})
	if err == nil && service.Spec.Service == nil {
		err = client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &service.ResourceVersion}})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete APIService %s: %w", name, err)
	}
	return nil
}
