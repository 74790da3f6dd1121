package kubelet

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
)

// pipeListener is a net.Listener for connections inside the process.
type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// dial returns after the server has accepted the connection.
func (l *pipeListener) dial(ctx context.Context, to dialTarget) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- &pipeConn{Conn: server, target: to}:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "memory" }
func (pipeAddr) String() string  { return "simulated-kubelet" }

// dialTarget is the kubelet that a client connects to.
type dialTarget struct {
	host  string   // as the client names it
	nodes []string // one, unless several nodes have the address
}

// pipeConn is the server's end of a connection.
type pipeConn struct {
	net.Conn
	target dialTarget
}

type nodesKey struct{}

func contextWithNodes(ctx context.Context, c *tls.Conn) context.Context {
	return context.WithValue(ctx, nodesKey{}, c.NetConn().(*pipeConn).target.nodes)
}

// nodesFromContext returns the nodes whose kubelet a request is for.
func nodesFromContext(ctx context.Context) []string {
	nodes, _ := ctx.Value(nodesKey{}).([]string)
	return nodes
}
