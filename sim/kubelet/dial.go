package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
	"github.com/ctrlplane/ctrlplane/sim/podhttp"
)

// Dialer returns a function that connects to the kubelet of any node: in-process if
// the node is simulated, else with network.
func (s *Server) Dialer(nodes corelisters.NodeLister, network utilnet.DialFunc) utilnet.DialFunc {
	s.nodeLister.Store(&nodes)
	return func(ctx context.Context, proto, addr string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		nodes := s.nodeLister.Load()
		if nodes == nil {
			return nil, net.ErrClosed
		}
		list, err := (*nodes).List(labels.Everything())
		if err != nil {
			return nil, err
		}
		names, dead := simulatedNodesAt(list, host)
		switch {
		case dead != nil:
			return nil, s.unreachableError(dead)
		case names == nil:
			return network(ctx, proto, addr)
		}
		c, err := s.listener.dial(ctx, dialTarget{host: host, nodes: names})
		if err != nil {
			return nil, fmt.Errorf("kubelet of simulated node %s: %w", names[0], err)
		}
		return c, nil
	}
}

// PodDialer returns a function that connects to the addresses of Pods: to the HTTP tables
// of simulated Pods in the process, else with network. While these run in another process or are suspended, it
// refuses the addresses and ranges of simulated nodes: the network does not lead there.
func (s *Server) PodDialer(network utilnet.DialFunc) utilnet.DialFunc {
	dial := s.commands.HTTP.Dialer(network)
	return func(ctx context.Context, proto, addr string) (net.Conn, error) {
		if !s.commands.HTTP.IsActive() && s.isInSimulatedRange(addr) {
			return nil, cmp.Or(s.standby(), errSuspended)
		}
		return dial(ctx, proto, addr)
	}
}

// errSuspended means that no simulated Pod answers until a restore or a reset has ended.
var errSuspended = errors.New("the pod is simulated, and the simulated nodes are suspended")

// isInSimulatedRange reports whether an address is that of a simulated node or in its Pod range.
func (s *Server) isInSimulatedRange(hostport string) bool {
	addr, err := netip.ParseAddrPort(hostport)
	nodes := s.nodeLister.Load()
	if err != nil || nodes == nil {
		return false
	}
	list, err := (*nodes).List(labels.Everything())
	if err != nil {
		return false
	}
	names, dead := simulatedNodesAt(list, addr.Addr().String())
	return names != nil || dead != nil || slices.ContainsFunc(list, func(node *corev1.Node) bool {
		return annotations.IsSimulated(node) && isInPodRange(node, addr.Addr())
	})
}

func isInPodRange(node *corev1.Node, addr netip.Addr) bool {
	if len(node.Spec.PodCIDRs) == 0 {
		return podhttp.PodRange.Contains(addr)
	}
	return slices.ContainsFunc(node.Spec.PodCIDRs, func(cidr string) bool {
		network, err := netip.ParsePrefix(cidr)
		return err == nil && network.Contains(addr)
	})
}

// simulatedNodesAt returns the names of the live simulated nodes with an address. It
// returns none if a real node has the same address: that kubelet must be reached. If there
// are simulated nodes but none is live, it returns one of these.
func simulatedNodesAt(nodes []*corev1.Node, host string) (names []string, dead *corev1.Node) {
	for _, node := range nodes {
		switch {
		case !slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Address == host }):
		case !annotations.IsSimulated(node):
			return nil, nil
		case !annotations.IsLive(node):
			dead = node
		default:
			names = append(names, node.Name)
		}
	}
	if names != nil {
		slices.Sort(names)
		return names, nil
	}
	return nil, dead
}

// unreachableError returns why the kubelet of a simulated node does not answer.
func (s *Server) unreachableError(node *corev1.Node) error {
	if annotations.IsTerminated(node) {
		return fmt.Errorf("the kubelet of simulated node %s does not answer: its machine was terminated", node.Name)
	}
	return fmt.Errorf("the kubelet of simulated node %[1]s does not answer: the node was made to fail: run %[2]s nodes recover %[1]s", node.Name, s.program)
}
