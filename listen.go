package ctrlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"

	"github.com/ctrlplane/ctrlplane/internal/neterror"
	"github.com/ctrlplane/ctrlplane/internal/peer"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

const (
	defaultListen      = "127.0.0.1:0"
	defaultServiceCIDR = "10.96.0.0/12"
	defaultPodCIDR     = "10.128.0.0/9" // a /24 for each of 32,768 nodes
)

func (p *controlPlane) serviceCIDR() string {
	return cmp.Or(p.config.Network.ServiceCIDR, defaultServiceCIDR)
}

func (p *controlPlane) podCIDR() string { return cmp.Or(p.config.Network.PodCIDR, defaultPodCIDR) }

func (p *controlPlane) listenAddress() string { return cmp.Or(p.config.Listen, defaultListen) }

// openListener opens the port for clients outside the process: the configured one,
// the one of the last start, or a free one.
func (p *controlPlane) openListener(ctx context.Context) (net.Listener, error) {
	host, port, err := net.SplitHostPort(p.listenAddress())
	if err != nil {
		return nil, usage.Errorf("listen address %q: %v: write HOST:PORT", p.config.Listen, err)
	}
	kept := false
	if port == "0" {
		state, err := p.dir.State()
		if err != nil {
			return nil, err
		}
		port, kept = strconv.Itoa(state.Port), state.Port != 0
	}
	address := net.JoinHostPort(host, port)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case neterror.IsAddressInUse(err) && kept:
		return nil, fmt.Errorf("port %s, which this control plane has used since its first start, is in use: stop the program that uses it, or choose another with --port", port)
	case neterror.IsAddressInUse(err):
		return nil, fmt.Errorf("port %s is in use: stop the program that uses it, or choose another with --port", port)
	case neterror.IsAddressUnavailable(err):
		return nil, fmt.Errorf("this machine has no address %s: choose another with --bind-address", host)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("cannot listen on %s: permission denied: choose a --port of at least 1024", address)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	if err := checkRoute(ctx, localAddress(listener.Addr())); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return peer.Listen(listener), nil
}

// checkRoute fails if no program on this machine can connect to an address, as in a network namespace whose loopback
// interface is down. It looks for a route, and sends nothing: UDP has no connections.
func checkRoute(ctx context.Context, address string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "udp", address)
	if err == nil {
		return conn.Close()
	}
	if !neterror.IsUnreachable(err) { // such as where UDP is forbidden
		return nil
	}
	if syscallErr, ok := errors.AsType[*os.SyscallError](err); ok {
		err = syscallErr.Err
	}
	return fmt.Errorf("no program can connect to %s: %w: bring its network interface up, as with \"ip link set lo up\" for the loopback addresses", address, err)
}

// localAddress returns the address by which a client on this machine reaches a listener.
func localAddress(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}
