package container

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/sim/podconfig"
	"github.com/ctrlplane/ctrlplane/sim/podhttp"
	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// podNetwork is what the processes of a Pod see of the network: the names of Services,
// and the HTTP tables of Pods.
type podNetwork struct {
	s  *session
	of *corev1.Pod
}

// errAPIServer is why the API server does not answer.
var errAPIServer = errors.New(`a simulated Pod cannot reach the API server: run its client on your machine, with a token of "kubectl create token"`)

// get answers wget and curl.
func (n podNetwork) get(ctx context.Context, address string) (int, []byte, error) {
	at, err := url.Parse(address)
	if err != nil {
		return 0, nil, err
	}
	port := 80
	if at.Scheme == "https" {
		port = 443
	}
	if at.Port() != "" {
		if port, err = strconv.Atoi(at.Port()); err != nil {
			return 0, nil, err
		}
	}
	server, port, err := n.server(ctx, at.Hostname(), port)
	switch {
	case at.Scheme != "http" && !errors.Is(err, errAPIServer):
		return 0, nil, fmt.Errorf("%s is not simulated: use http", at.Scheme)
	case err != nil:
		return 0, nil, err
	}
	status, body := server.Table.Get(port, at.Path)
	return status, []byte(body), nil
}

// connect reports why nothing listens on a port of a host.
func (n podNetwork) connect(ctx context.Context, host string, port int) error {
	_, _, err := n.server(ctx, host, port)
	return err
}

// answers reports whether a Pod has an address. As in a cluster, that of a Service does not
// answer ping.
func (n podNetwork) answers(address string) bool {
	addr, err := netip.ParseAddr(address)
	return err == nil && (addr.IsLoopback() || address == n.of.Status.PodIP || n.s.http.IsSimulated(addr))
}

// server returns the Pod that a connection to a port of a host reaches, and its port.
func (n podNetwork) server(ctx context.Context, host string, port int) (podhttp.Pod, int, error) {
	if err := n.s.feeds.services.await(ctx, n.s); err != nil {
		return podhttp.Pod{}, 0, err
	}
	if host == "localhost" || host == n.of.Name {
		return n.own(port)
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return n.serverAt(ctx, addr, port)
	}
	service, hostname := n.service(host)
	switch {
	case service == nil:
		return podhttp.Pod{}, 0, fmt.Errorf("%w '%s'", shell.ErrBadAddress, host)
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return podhttp.Pod{}, 0, fmt.Errorf("%s is an alias of %s: %w", host, service.Spec.ExternalName, shell.ErrNoNetwork)
	case service.Spec.ClusterIP == corev1.ClusterIPNone:
		backends, err := n.backends(ctx, service, hostname)
		if err != nil {
			return podhttp.Pod{}, 0, err
		}
		return n.podAt(backends[rand.IntN(len(backends))].addr, port)
	}
	return n.behind(ctx, service, service.Spec.ClusterIP, port)
}

// serverAt is server for an address. As in a cluster, one of a Service leads to it with the Service's ports only: that of a
// node has node ports and those of Pods in its network, too.
func (n podNetwork) serverAt(ctx context.Context, addr netip.Addr, port int) (podhttp.Pod, int, error) {
	if addr.IsLoopback() || addr.String() == n.of.Status.PodIP {
		return n.own(port)
	}
	if service := n.s.services.at(addr.String(), port); service != nil {
		return n.behind(ctx, service, addr.String(), port)
	}
	if service, at := n.s.services.withNodePort(port); service != nil {
		switch is, err := n.isNode(ctx, addr); {
		case err != nil:
			return podhttp.Pod{}, 0, err
		case is:
			return n.behindPort(ctx, service, addr.String(), at)
		}
	}
	server, listens := n.s.http.At(addr, port)
	switch service := n.s.services.withAddress(addr.String()); {
	case listens:
		return server, port, nil
	case service != nil:
		return n.behind(ctx, service, addr.String(), port)
	case n.s.http.IsSimulated(addr):
		return n.podAt(addr, port)
	}
	return podhttp.Pod{}, 0, fmt.Errorf("can't connect to remote host (%s): %w", addr, shell.ErrNoNetwork)
}

func (n podNetwork) own(port int) (podhttp.Pod, int, error) {
	server, _ := n.s.http.Pod(n.of.UID)
	if !server.Table.Listens(port) {
		return server, 0, fmt.Errorf("can't connect to remote host (127.0.0.1): %w", podhttp.ErrRefused)
	}
	return server, port, nil
}

func (n podNetwork) podAt(addr netip.Addr, port int) (podhttp.Pod, int, error) {
	server, ok := n.s.http.At(addr, port)
	if !ok {
		return server, 0, fmt.Errorf("can't connect to remote host (%s): %w", addr, podhttp.ErrRefused)
	}
	return server, port, nil
}

// isNode reports whether an address is that of a node.
func (n podNetwork) isNode(ctx context.Context, addr netip.Addr) (bool, error) {
	nodes, err := n.s.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(nodes.Items, func(node corev1.Node) bool {
		return slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Address == addr.String() })
	}), nil
}

// behind returns a Pod behind a port of an address of a Service.
func (n podNetwork) behind(ctx context.Context, service *corev1.Service, address string, port int) (podhttp.Pod, int, error) {
	if service.Namespace == metav1.NamespaceDefault && service.Name == "kubernetes" {
		return podhttp.Pod{}, 0, errAPIServer
	}
	i := portIndex(service, port)
	if i < 0 {
		return podhttp.Pod{}, 0, fmt.Errorf("can't connect to remote host (%s): service %s/%s has no port %d", address, service.Namespace, service.Name, port)
	}
	return n.behindPort(ctx, service, address, i)
}

// behindPort returns a Pod behind a port of a Service that an address leads to.
func (n podNetwork) behindPort(ctx context.Context, service *corev1.Service, address string, i int) (podhttp.Pod, int, error) {
	backends, err := n.backends(ctx, service, "")
	if err != nil {
		return podhttp.Pod{}, 0, err
	}
	to := backends[rand.IntN(len(backends))]
	target, ok := to.ports[service.Spec.Ports[i].Name]
	if !ok {
		return podhttp.Pod{}, 0, fmt.Errorf("can't connect to remote host (%s): the endpoints of service %s/%s lack port %d", address, service.Namespace, service.Name, service.Spec.Ports[i].Port)
	}
	return n.podAt(to.addr, target)
}

// lookup resolves the name of a Service as the DNS of a cluster does.
func (n podNetwork) lookup(ctx context.Context, host string) ([]string, error) {
	if err := n.s.feeds.services.await(ctx, n.s); err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return []string{host}, nil
	}
	service, hostname := n.service(host)
	switch {
	case service == nil:
		return nil, fmt.Errorf("can't resolve '%s'", host)
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return nil, fmt.Errorf("%s is an alias of %s, which is outside of the cluster", host, service.Spec.ExternalName)
	case service.Spec.ClusterIP != corev1.ClusterIPNone:
		return service.Spec.ClusterIPs, nil
	}
	backends, err := n.backends(ctx, service, hostname)
	var addresses []string
	for _, b := range backends {
		addresses = append(addresses, b.addr.String())
	}
	return addresses, err
}

// service returns the Service that a name is about; nil if it does not exist. hostname
// is that of a Pod of a headless Service, if the name has one.
func (n podNetwork) service(host string) (service *corev1.Service, hostname string) {
	name := strings.TrimSuffix(strings.TrimSuffix(host, "."), "."+podconfig.ClusterDomain)
	name, full := strings.CutSuffix(name, ".svc")
	get := n.s.services.get
	switch labels := strings.Split(name, "."); {
	case len(labels) == 1 && !full:
		return get(n.of.Namespace, labels[0]), ""
	case len(labels) == 2:
		if headless := get(n.of.Namespace, labels[1]); !full && headless != nil && headless.Spec.ClusterIP == corev1.ClusterIPNone {
			return headless, labels[0]
		}
		return get(labels[1], labels[0]), ""
	case len(labels) == 3:
		if headless := get(labels[2], labels[1]); headless != nil && headless.Spec.ClusterIP == corev1.ClusterIPNone {
			return headless, labels[0]
		}
	}
	return nil, ""
}

// backend is a Pod behind a Service.
type backend struct {
	addr  netip.Addr
	ports map[string]int // by the name of the Service's port
}

// backends returns the ready Pods behind a Service, or that with a host name. It is an
// error if none exists.
func (n podNetwork) backends(ctx context.Context, service *corev1.Service, hostname string) ([]backend, error) {
	list, err := n.s.client.DiscoveryV1().EndpointSlices(service.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + service.Name,
	})
	if err != nil {
		return nil, err
	}
	var all []backend
	for i := range list.Items {
		for _, e := range list.Items[i].Endpoints {
			if !ptr.Deref(e.Conditions.Ready, true) || hostname != "" && ptr.Deref(e.Hostname, "") != hostname {
				continue
			}
			for _, address := range e.Addresses {
				if addr, err := netip.ParseAddr(address); err == nil { // not a name
					all = append(all, backend{addr, portsOf(&list.Items[i])})
				}
			}
		}
	}
	if all == nil {
		return nil, fmt.Errorf("service %s/%s has no ready endpoints", service.Namespace, service.Name)
	}
	return all, nil
}

func portsOf(slice *discoveryv1.EndpointSlice) map[string]int {
	ports := map[string]int{}
	for _, p := range slice.Ports {
		ports[ptr.Deref(p.Name, "")] = int(ptr.Deref(p.Port, 0))
	}
	return ports
}
