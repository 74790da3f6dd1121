package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
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
	// connBufferBytes is what one connection buffers in each direction. The API
	// server opens a connection for each kind: with 1 MiB each would take 2.2 MB
	// of heap, with this 0.12 MB, and reading a long list is but a fifth slower.
	connBufferBytes = 16 << 10
	// readBufferBytes is gRPC's of each connection on the server's side; its own default
	// is twice that.
	readBufferBytes = 16 << 10
	// minPingInterval is the shortest keepalive interval clients may use: that of
	// etcd itself. The API server pings every 30 s, which gRPC's own default would
	// answer by hanging up.
	minPingInterval = 5 * time.Second

	// drainTimeout is how long Close lets calls finish; watches never do.
	drainTimeout = 50 * time.Millisecond
	// stopTimeout bounds the wait for a member that failed, whose goroutines may
	// wait for each other for ever.
	stopTimeout = 2 * time.Second
)

// member is an embedded etcd server and the way to it.
type member struct {
	lifetime   *lifetime
	etcd       *embed.Etcd
	rpc        *grpc.Server
	listener   *bufconn.Listener
	closing    chan struct{}
	goroutines sync.WaitGroup
}

func startMember(ctx context.Context, cfg Config, l *lifetime) (_ *member, err error) {
	made, err := prepareDir(cfg.Dir)
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
	m := &member{lifetime: l, listener: bufconn.Listen(connBufferBytes), closing: make(chan struct{})}
	found, err := inspectFiles(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if found.neverBegan {
		made = filepath.Join(cfg.Dir, "member")
		if err := os.RemoveAll(made); err != nil {
			return nil, fmt.Errorf("open: %w", withAdvice(cfg.Dir, err))
		}
		found = raftIndexes{}
	}
	release, err := acquireStartSlot(ctx)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	defer release()
	if gone, err = m.openEtcd(ctx, cfg); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if err := m.waitReady(ctx, found); err != nil {
		gone = m.close()
		return nil, fmt.Errorf("start: %w", err)
	}
	m.serve()
	return m, nil
}

// storeSize is the revision of the store and the size of its file in bytes.
func (m *member) storeSize() (revision, bytes int64) {
	return m.etcd.Server.KV().Rev(), m.etcd.Server.Backend().Size()
}

// openEtcd starts etcd in a goroutine of its own, as a fatal fault ends the
// goroutine it happens in. It reports whether a failed etcd is gone for good.
func (m *member) openEtcd(ctx context.Context, cfg Config) (gone bool, err error) {
	settings, err := newEmbedConfig(cfg, m.lifetime.guardLogger(cfg.zapLogger(), cfg.Dir))
	if err != nil {
		return true, err
	}
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		defer func() {
			if r := recover(); r != nil {
				cfg.zapLogger().Error("panic while opening", zap.Any("panic", r), zap.Stack("stack"))
				m.lifetime.end(withAdvice(cfg.Dir, fmt.Errorf("%v", r)))
			}
		}()
		// A file cut short under a memory map is a fault, not an error.
		debug.SetPanicOnFault(true)
		e, err := embed.StartEtcd(settings)
		if err != nil {
			m.lifetime.end(withAdvice(cfg.Dir, err))
			return
		}
		m.etcd = e
	}()
	select {
	case <-opened:
	case <-m.lifetime.Done():
	case <-ctx.Done():
	}
	if !m.waitStopped(opened) {
		go func() { // it cannot be interrupted: close it whenever it is done
			<-opened
			if m.etcd != nil {
				m.etcd.Close()
			}
		}()
		return false, m.startError(ctx)
	}
	if m.etcd == nil {
		return true, m.lifetime.failure()
	}
	if err := m.startError(ctx); err != nil {
		m.etcd.Close()
		return true, err
	}
	return true, nil
}

// startError returns why a start cannot go on, if so.
func (m *member) startError(ctx context.Context) error {
	if err := m.lifetime.failure(); err != nil {
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
		grpc.ReadBufferSize(readBufferBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPingInterval}),
	)
	m.goroutines.Go(func() {
		// One that is closed before it got to serve says so; that is no failure.
		if err := m.rpc.Serve(m.listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			m.lifetime.end(fmt.Errorf("serve: %w", err))
		}
	})
	m.goroutines.Go(m.watchStop)
}

// watchStop ends the life when the member stops without having been asked to.
func (m *member) watchStop() {
	select {
	case <-m.closing:
		return
	case <-m.etcd.Server.StopNotify():
	}
	select {
	case <-m.closing: // this goroutine was late to see both
	default:
		m.lifetime.end(errors.New("the member stopped by itself; the log says why"))
	}
}

func (m *member) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := m.listener.DialContext(ctx)
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
	case <-m.lifetime.Done():
		return m.waitStopped(stopped)
	}
}

// stop hangs up on the clients first: a call that outlives the store would find
// it closed under its feet.
func (m *member) stop() {
	close(m.closing)
	if m.rpc != nil {
		cut := time.AfterFunc(drainTimeout, m.rpc.Stop)
		m.rpc.GracefulStop()
		cut.Stop()
	}
	m.etcd.Close()
	m.goroutines.Wait()
}

// waitStopped waits for what may hang.
func (m *member) waitStopped(ended <-chan struct{}) bool {
	t := time.NewTimer(stopTimeout)
	defer t.Stop()
	select {
	case <-ended:
		return true
	case <-t.C:
		return false
	}
}
