package kubelet

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
)

// listener takes connections from inside the process.
type listener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newListener() *listener {
	return &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// connect returns when the other end is accepted.
func (l *listener) connect(ctx context.Context, to target) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- &conn{Conn: server, to: to}:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "simulated-kubelet" }

// target is whom a connection is for.
type target struct {
	host  string   // as the client calls it
	nodes []string // one, unless several claim the address
}

// conn is the kubelet's end of a connection.
type conn struct {
	net.Conn
	to target
}

type nodesKey struct{}

func withNodes(ctx context.Context, c *tls.Conn) context.Context {
	return context.WithValue(ctx, nodesKey{}, c.NetConn().(*conn).to.nodes)
}

// nodesOf are the nodes whose kubelet a request is for.
func nodesOf(ctx context.Context) []string {
	nodes, _ := ctx.Value(nodesKey{}).([]string)
	return nodes
}
