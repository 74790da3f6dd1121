package apiserver

import (
	"net"
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

// setPodDialer puts dial in front of the dialer of the proxy subresources. It replaces
// the transport: webhooks and aggregated APIs keep upstream's.
func setPodDialer(config *controlplane.Config, dial PodDialer) {
	transport := config.ControlPlane.ProxyTransport.Clone()
	network := transport.DialContext
	if network == nil {
		network = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	transport.DialContext = dial(network)
	config.ControlPlane.ProxyTransport = transport
}

// setKubeletDialer puts dial in front of the dialer that upstream has chosen.
func setKubeletDialer(config *controlplane.Config, dial KubeletDialer) {
	nodes := config.ControlPlane.VersionedInformers.Core().V1().Nodes().Lister()
	kubelet := &config.Extra.KubeletClientConfig
	egress := kubelet.Lookup // nil without an egress selector
	kubelet.Lookup = func(to egressselector.NetworkContext) (utilnet.DialFunc, error) {
		// The defaults of client-go's transport.
		network := (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
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
