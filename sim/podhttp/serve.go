package podhttp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// ErrRefused means that nothing listens at an address of a simulated Pod.
var ErrRefused = errors.New("connection refused: the pod is simulated and answers only what its annotation " + annotations.HTTP + " says")

// Dialer returns a function that connects to the addresses of simulated Pods in the
// process, and with network to those that cannot be theirs.
func (d *Directory) Dialer(network utilnet.DialFunc) utilnet.DialFunc {
	return func(ctx context.Context, proto, address string) (net.Conn, error) {
		addr, port, err := splitAddress(address)
		if err != nil || !d.IsSimulated(addr) && d.mayBeOutside(addr) {
			return network(ctx, proto, address)
		}
		p, ok := d.At(addr, port)
		if !ok {
			return nil, fmt.Errorf("dial %s: %w", address, ErrRefused)
		}
		return d.Connect(p.UID, port), nil
	}
}

func splitAddress(address string) (netip.Addr, int, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return netip.Addr{}, 0, err
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return addr, 0, err
	}
	port, err := strconv.Atoi(service)
	return addr, port, err
}

// Connect returns a connection to a port of a Pod. A server in the process answers one
// request on it.
func (d *Directory) Connect(uid types.UID, port int) net.Conn {
	client, server := net.Pipe()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conns == nil {
		d.conns = map[net.Conn]bool{}
	}
	d.conns[server] = true
	d.wg.Go(func() {
		d.serve(server, uid, port)
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.conns, server)
	})
	return client
}

// serve returns when the connection has ended.
func (d *Directory) serve(conn net.Conn, uid types.UID, port int) {
	table := func() Table {
		p, _ := d.Pod(uid)
		return p.Table
	}
	s := &http.Server{Handler: newHandler(port, table), ReadHeaderTimeout: time.Minute}
	s.SetKeepAlivesEnabled(false)
	_ = s.Serve(newConnListener(conn)) // it ends with the connection
}

// Close ends all connections and forgets all Pods.
func (d *Directory) Close() {
	d.mu.Lock()
	d.byUID, d.isSimulated, d.isReserved = nil, nil, nil
	for conn := range d.conns {
		conn.Close()
	}
	d.mu.Unlock()
	d.wg.Wait()
}

// connListener is a net.Listener of one connection, with which it ends.
type connListener struct {
	conn chan net.Conn
	once sync.Once
	addr net.Addr
}

func newConnListener(conn net.Conn) *connListener {
	l := &connListener{conn: make(chan net.Conn, 1), addr: conn.LocalAddr()}
	l.conn <- listenedConn{conn, l}
	return l
}

// Accept implements net.Listener.
func (l *connListener) Accept() (net.Conn, error) {
	if conn, ok := <-l.conn; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (l *connListener) Close() error {
	l.once.Do(func() { close(l.conn) })
	return nil
}

// Addr implements net.Listener.
func (l *connListener) Addr() net.Addr { return l.addr }

// listenedConn closes its listener.
type listenedConn struct {
	net.Conn
	listener *connListener
}

// Close implements net.Conn.
func (c listenedConn) Close() error {
	return errors.Join(c.listener.Close(), c.Conn.Close())
}
