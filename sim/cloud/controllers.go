package cloud

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	nodecontroller "k8s.io/cloud-provider/controllers/node"
	lifecyclecontroller "k8s.io/cloud-provider/controllers/nodelifecycle"
	routecontroller "k8s.io/cloud-provider/controllers/route"
	servicecontroller "k8s.io/cloud-provider/controllers/service"
	"k8s.io/cloud-provider/names"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/klog/v2"
	_ "k8s.io/kubernetes/pkg/features" // registers the feature gates that the controllers read
)

// The defaults of upstream's cloud-controller-manager.
const (
	clusterName       = "kubernetes"
	workers           = 1
	routePeriod       = 10 * time.Second
	nodeStatusPeriod  = 5 * time.Minute
	nodeMonitorPeriod = 5 * time.Second
)

// Controller is one of upstream's cloud controllers with this provider.
type Controller struct {
	Name    string
	Aliases []string
	// Build creates the controller, before the informers start. The function that it
	// returns runs the controller, once, until the context ends.
	Build func(Environment) (run func(context.Context), err error)
}

// Environment is what Build needs.
type Environment struct {
	Informers informers.SharedInformerFactory
	// Client returns a client that acts as the named service account.
	Client  func(account string) (kubernetes.Interface, error)
	Metrics *controllersmetrics.ControllerManagerMetrics
}

// builder builds a controller with the client of a service account.
type builder struct {
	account string
	build   func(Environment, kubernetes.Interface) (run func(context.Context), err error)
}

// Controllers returns the cloud controllers, sorted by name.
func (p *Provider) Controllers() []Controller {
	builders := map[string]builder{
		names.CloudNodeController:          {"node-controller", p.buildNodeController},
		names.CloudNodeLifecycleController: {"node-controller", p.buildLifecycleController},
		names.NodeRouteController:          {"route-controller", p.buildRouteController},
		names.ServiceLBController:          {"service-controller", p.buildServiceController},
	}
	var controllers []Controller
	for _, name := range slices.Sorted(maps.Keys(builders)) {
		c := Controller{Name: name, Build: func(e Environment) (func(context.Context), error) {
			client, err := e.Client(builders[name].account)
			if err != nil {
				return nil, err
			}
			return builders[name].build(e, client)
		}}
		for alias, of := range names.CCMControllerAliases() {
			if of == name {
				c.Aliases = append(c.Aliases, alias)
			}
		}
		controllers = append(controllers, c)
	}
	return controllers
}

// buildServiceController builds the controller that gives Services of type
// LoadBalancer their addresses.
func (p *Provider) buildServiceController(e Environment, client kubernetes.Interface) (func(context.Context), error) {
	services := e.Informers.Core().V1().Services()
	c, err := servicecontroller.New(p, client, services, e.Informers.Core().V1().Nodes(), clusterName, utilfeature.DefaultFeatureGate)
	if err != nil {
		return nil, fmt.Errorf("service controller: %w", err)
	}
	synced, lister := services.Informer().HasSynced, services.Lister()
	return func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		// The addresses that Services have must be known before the first is assigned.
		if cache.WaitForCacheSync(ctx.Done(), synced) {
			all, err := lister.List(labels.Everything())
			if err != nil {
				klog.FromContext(ctx).Error(err, "cannot list the addresses that Services have")
				cancel()
			}
			p.balancer.adoptAddresses(all)
		}
		c.Run(ctx, workers, e.Metrics) // also after ctx has ended: only Run shuts down the queues
	}, nil
}

// buildRouteController builds the controller that keeps a route to the Pods of each
// node, and sets the condition NetworkUnavailable of the node.
func (p *Provider) buildRouteController(e Environment, client kubernetes.Interface) (func(context.Context), error) {
	c, err := routecontroller.New(p.routes, client, e.Informers.Core().V1().Nodes(), clusterName, p.podCIDRs)
	if err != nil {
		return nil, fmt.Errorf("route controller: %w", err)
	}
	return func(ctx context.Context) { c.Run(ctx, routePeriod, e.Metrics) }, nil
}

// buildNodeController builds the controller that initializes nodes with the taint of
// an external cloud provider. It acts as the node controller, as the lifecycle
// controller does.
func (p *Provider) buildNodeController(e Environment, client kubernetes.Interface) (func(context.Context), error) {
	c, err := nodecontroller.NewCloudNodeController(e.Informers.Core().V1().Nodes(), client, p, nodeStatusPeriod, workers, workers)
	if err != nil {
		return nil, fmt.Errorf("cloud node controller: %w", err)
	}
	return func(ctx context.Context) { c.RunWithContext(ctx, e.Metrics) }, nil
}

// buildLifecycleController builds the controller that deletes nodes that are not Ready
// and whose machine does not exist.
func (p *Provider) buildLifecycleController(e Environment, client kubernetes.Interface) (func(context.Context), error) {
	nodes := e.Informers.Core().V1().Nodes()
	c, err := lifecyclecontroller.NewCloudNodeLifecycleController(nodes, client, p, nodeMonitorPeriod, workers)
	if err != nil {
		return nil, fmt.Errorf("cloud node lifecycle controller: %w", err)
	}
	return func(ctx context.Context) { c.Run(ctx, e.Metrics) }, nil
}
