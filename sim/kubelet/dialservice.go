package kubelet

import (
	"context"
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// ServiceDialer returns a function that connects to the servers of webhooks and of aggregated APIs: with network, except to
// addresses of simulated Pods, and to the cluster IP of a Service while all nodes are simulated. On the machine's network such
// an address leads nowhere, or to another program, as in a company's network that uses the same range.
func (s *Server) ServiceDialer(services corelisters.ServiceLister, nodes corelisters.NodeLister, network utilnet.DialFunc) utilnet.DialFunc {
	return func(ctx context.Context, proto, addr string) (net.Conn, error) {
		to, err := serviceAt(services, addr)
		if err != nil {
			return nil, err
		}
		switch {
		case to != nil:
		case s.isInSimulatedRange(addr): // with enable-aggregator-routing
			return nil, unreachableServerError{"address " + addr}
		default:
			return network(ctx, proto, addr)
		}
		list, err := nodes.List(labels.Everything())
		if err != nil {
			return nil, err
		}
		isReal := func(n *corev1.Node) bool { return !annotations.IsSimulated(n) }
		if slices.ContainsFunc(list, isReal) {
			return network(ctx, proto, addr)
		}
		return nil, unreachableServerError{"Service " + to.Namespace + "/" + to.Name}
	}
}

// unreachableServerError is returned for an address behind which no program runs.
type unreachableServerError struct{ what string }

func (e unreachableServerError) Error() string {
	return e.what + " leads to no program, because the programs of Pods do not run here: run the server on this machine, set the Service's type to ExternalName, " +
		"and service.port in the configuration to the server's port, or delete the configuration that refers to it"
}

// serviceAt returns the Service with the cluster IP of an address, or nil.
func serviceAt(services corelisters.ServiceLister, addr string) (*corev1.Service, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	ip := net.ParseIP(host)
	if ip == nil {
		return nil, nil
	}
	list, err := services.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	for _, service := range list {
		if slices.ContainsFunc(service.Spec.ClusterIPs, func(own string) bool { return ip.Equal(net.ParseIP(own)) }) {
			return service, nil
		}
	}
	return nil, nil
}
