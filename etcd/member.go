package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"
)

const (
	// connBuffer is what one connection buffers in each direction. The API
	// server opens a connection for each kind: with 1 MiB each would take 2.2 MB
	// of heap, with this 0.12 MB, and reading a long list is but a fifth slower.
	connBuffer = 16 << 10
	// readBuffer is gRPC's of each connection on the server's side; its own default
	// is twice that.
	readBuffer = 16 << 10
	// pingsAtMostEvery is the shortest keepalive interval clients may use: that of
	// etcd itself. The API server pings every 30 s, which gRPC's own default would
	// answer by hanging up.
	pingsAtMostEvery = 5 * time.Second

	// drain is how long Close lets calls finish; watches never do.
	drain = 50 * time.Millisecond
	// giveUp bounds the wait for a member that failed, whose goroutines may
	// wait for each other for ever.
	giveUp = 2 * time.Second
)

// member is an embedded etcd server and the way to it.
type member struct {
	life    *life
	etcd    *embed.Etcd
	rpc     *grpc.Server
	conns   *bufconn.Listener
	closing chan struct{}
	running sync.WaitGroup
}

func startMember(ctx context.Context, cfg Config, l *life) (_ *member, err error) {
	made, err := prepare(cfg.Dir)
	gone := true
	defer func() {
		if err == nil || made == "" || !gone {
			return
		}
		if rerr := os.RemoveAll(made); rerr != nil {
			err = fmt.Errorf("%w (and what the start left there could not be removed: %w)", err, rerr)
		}
	}()
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	m := &member{life: l, conns: bufconn.Listen(connBuffer), closing: make(chan struct{})}
	found, err := inspect(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	release, err := takeTurn(ctx)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	defer release()
	if gone, err = m.open(ctx, cfg); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if err := m.ready(ctx, found); err != nil {
		gone = m.close()
		return nil, fmt.Errorf("start: %w", err)
	}
	m.serve()
	return m, nil
}

// size is the revision of the store and the size of its file in bytes.
func (m *member) size() (revision, bytes int64) {
	return m.etcd.Server.KV().Rev(), m.etcd.Server.Backend().Size()
}

// open starts etcd in a goroutine of its own, as a fatal fault ends the
// goroutine it happens in. It reports whether a failed etcd is gone for good.
func (m *member) open(ctx context.Context, cfg Config) (gone bool, err error) {
	settings, err := settings(cfg, m.life.logger(cfg.logger(), cfg.Dir))
	if err != nil {
		return true, err
	}
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		defer func() {
			if r := recover(); r != nil {
				cfg.logger().Error("panic while opening", zap.Any("panic", r), zap.Stack("stack"))
				m.life.end(explain(cfg.Dir, fmt.Errorf("%v", r)))
			}
		}()
		// A file cut short under a memory map is a fault, not an error.
		debug.SetPanicOnFault(true)
		e, err := embed.StartEtcd(settings)
		if err != nil {
			m.life.end(explain(cfg.Dir, err))
			return
		}
		m.etcd = e
	}()
	select {
	case <-opened:
	case <-m.life.Done():
	case <-ctx.Done():
	}
	if !m.endsWithin(opened) {
		go func() { // it cannot be interrupted: close it whenever it is done
			<-opened
			if m.etcd != nil {
				m.etcd.Close()
			}
		}()
		return false, m.why(ctx)
	}
	if m.etcd == nil {
		return true, m.life.fault()
	}
	if err := m.why(ctx); err != nil {
		m.etcd.Close()
		return true, err
	}
	return true, nil
}

// why returns why a start cannot go on, if so.
func (m *member) why(ctx context.Context) error {
	if err := m.life.fault(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("gave up before it was ready: %w", context.Cause(ctx))
	}
	return nil
}

// serve answers clients from now on.
func (m *member) serve() {
	m.rpc = v3rpc.Server(m.etcd.Server, nil, nil,
		grpc.WaitForHandlers(true),
		grpc.ReadBufferSize(readBuffer),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingsAtMostEvery}),
	)
	m.running.Go(func() {
		// One that is closed before it got to serve says so; that is no failure.
		if err := m.rpc.Serve(m.conns); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			m.life.end(fmt.Errorf("serve: %w", err))
		}
	})
	m.running.Go(m.watch)
}

// watch ends the life when the member stops without having been asked to.
func (m *member) watch() {
	select {
	case <-m.closing:
		return
	case <-m.etcd.Server.StopNotify():
	}
	select {
	case <-m.closing: // this goroutine was late to see both
	default:
		m.life.end(errors.New("the member stopped by itself; the log says why"))
	}
}

func (m *member) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := m.conns.DialContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("etcd: dial the embedded member: %w", err)
	}
	return conn, nil
}

// close stops the member and reports whether it is gone, which only one that
// failed may not be.
func (m *member) close() bool {
	stopped := make(chan struct{})
	go func() { // a fatal fault on the way out ends this goroutine, not the caller's
		defer close(stopped)
		m.stop()
	}()
	select {
	case <-stopped:
		return true
	case <-m.life.Done():
		return m.endsWithin(stopped)
	}
}

// stop hangs up on the clients first: a call that outlives the store would find
// it closed under its feet.
func (m *member) stop() {
	close(m.closing)
	if m.rpc != nil {
		cut := time.AfterFunc(drain, m.rpc.Stop)
		m.rpc.GracefulStop()
		cut.Stop()
	}
	m.etcd.Close()
	m.running.Wait()
}

// endsWithin waits for what may hang.
func (m *member) endsWithin(ended <-chan struct{}) bool {
	t := time.NewTimer(giveUp)
	defer t.Stop()
	select {
	case <-ended:
		return true
	case <-t.C:
		return false
	}
}
