package apiserver

import (
	"net"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/egressselector"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/kubernetes/pkg/controlplane"
)

// KubeletDialer returns a function that connects to kubelets: to those of simulated
// nodes in the process, and to others by network.
type KubeletDialer func(nodes corelisters.NodeLister, network utilnet.DialFunc) utilnet.DialFunc

// PodDialer returns a function that connects to addresses of Pods: to those of simulated
// nodes in the process, and to others by network.
type PodDialer func(network utilnet.DialFunc) utilnet.DialFunc

// ServiceDialer returns a function that connects to the servers of webhooks and aggregated APIs.
type ServiceDialer func(services corelisters.ServiceLister, nodes corelisters.NodeLister, network utilnet.DialFunc) utilnet.DialFunc

// setServiceDialer puts dial in front of the dialer of webhooks that are called by a Service and of aggregated APIs. They
// use the transport of the proxy subresources, and read its dialer later. With an egress selector they have that one's.
func setServiceDialer(config *controlplane.Config, dial ServiceDialer) {
	core := config.ControlPlane.VersionedInformers.Core().V1()
	transport := config.ControlPlane.ProxyTransport
	transport.DialContext = dial(core.Services().Lister(), core.Nodes().Lister(), networkDialer(transport))
}

// setPodDialer puts dial in front of the dialer of the proxy subresources. It replaces
// the transport: webhooks and aggregated APIs keep theirs.
func setPodDialer(config *controlplane.Config, network utilnet.DialFunc, dial PodDialer) {
	transport := config.ControlPlane.ProxyTransport.Clone()
	transport.DialContext = dial(network)
	config.ControlPlane.ProxyTransport = transport
}

// networkDialer returns the dialer of a transport.
func networkDialer(transport *http.Transport) utilnet.DialFunc {
	if transport.DialContext != nil {
		return transport.DialContext
	}
	return newNetworkDialer()
}

// newNetworkDialer returns a dialer with the defaults of client-go's transport.
func newNetworkDialer() utilnet.DialFunc {
	return (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
}

// setKubeletDialer puts dial in front of the dialer that upstream has chosen.
func setKubeletDialer(config *controlplane.Config, dial KubeletDialer) {
	nodes := config.ControlPlane.VersionedInformers.Core().V1().Nodes().Lister()
	kubelet := &config.Extra.KubeletClientConfig
	egress := kubelet.Lookup // nil without an egress selector
	kubelet.Lookup = func(to egressselector.NetworkContext) (utilnet.DialFunc, error) {
		network := newNetworkDialer()
		if egress == nil {
			return dial(nodes, network), nil
		}
		chosen, err := egress(to)
		if err != nil {
			return nil, err
		}
		if chosen == nil {
			chosen = network
		}
		return dial(nodes, chosen), nil
	}
}
