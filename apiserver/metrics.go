package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	aggregatorapiserver "k8s.io/kube-aggregator/pkg/apiserver"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	listers "k8s.io/kube-aggregator/pkg/client/listers/apiregistration/v1"

	"github.com/ctrlplane/ctrlplane/sim/metricsapi"
)

// metricsRoute decides who serves metrics.k8s.io: this process, or the service
// of an APIService that a user has put in place of ours. Upstream's routing
// would always find ours first.
type metricsRoute struct {
	disabled bool // nobody is to serve it here
	services listers.APIServiceLister
	proxy    http.Handler
}

// routeMetrics takes a place in front of upstream's routing; the route holds
// once it is installed, which is before anything is served. If off is set,
// upstream's routing is left alone.
func routeMetrics(config *server.RecommendedConfig, off bool) (*metricsRoute, error) {
	if off {
		return &metricsRoute{disabled: true}, nil
	}
	if err := metricsapi.SetDefinitionNames(&config.Config); err != nil {
		return nil, err
	}
	r := &metricsRoute{}
	build := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(h http.Handler, cfg *server.Config) http.Handler {
		return build(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if r.isForeign(req.URL.Path) {
				r.proxy.ServeHTTP(w, req)
				return
			}
			h.ServeHTTP(w, req)
		}), cfg)
	}
	return r, nil
}

// isForeign tells whether another server has to answer a request for this path.
func (r *metricsRoute) isForeign(path string) bool {
	rest, ok := strings.CutPrefix(path, metricsapi.GroupPath)
	if !ok || rest != "" && rest[0] != '/' {
		return false
	}
	service, err := r.services.Get(metricsapi.APIService().Name)
	return err == nil && service.Spec.Service != nil // the lister's only error is that there is none
}

// install serves the group by front, from the API server's own informers: the
// node authorizer keeps pods and nodes in them anyway.
func (r *metricsRoute) install(front *aggregatorapiserver.APIAggregator, shared informers.SharedInformerFactory) error {
	if r.disabled {
		return nil
	}
	r.services = front.APIRegistrationInformers.Apiregistration().V1().APIServices().Lister()
	r.proxy = front.GenericAPIServer.Handler.NonGoRestfulMux
	if err := metricsapi.Install(front.GenericAPIServer, shared); err != nil {
		return fmt.Errorf("apiserver: install metrics.k8s.io: %w", err)
	}
	return nil
}

// register creates what upstream lists and authorizes metrics.k8s.io by, unless
// it is there: then it may be a user's.
func (r *metricsRoute) register(ctx context.Context, config *rest.Config) error {
	services, err := aggregator.NewForConfig(config)
	if err != nil {
		return err
	}
	if r.disabled {
		return unregisterMetrics(ctx, services)
	}
	_, err = services.ApiregistrationV1().APIServices().Create(ctx, metricsapi.APIService(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create APIService %s: %w", metricsapi.APIService().Name, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = client.RbacV1().ClusterRoles().Create(ctx, metricsapi.ClusterRole(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create cluster role %s: %w", metricsapi.ClusterRole().Name, err)
	}
	return nil
}

// unregisterMetrics removes what an earlier run in which metrics were served has
// left, unless a user has put a service of his own in its place.
func unregisterMetrics(ctx context.Context, services aggregator.Interface) error {
	client, name := services.ApiregistrationV1().APIServices(), metricsapi.APIService().Name
	service, err := client.Get(ctx, name, metav1.GetOptions{})
	if err == nil && service.Spec.Service == nil {
		err = client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &service.ResourceVersion}})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove APIService %s: %w", name, err)
	}
	return nil
}
