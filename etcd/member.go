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

	"github.com/ctrlplane/ctrlplane/internal/durable"
)

const (
	// connBufferBytes is the buffer of a connection in each direction. With 1 MiB a
	// connection takes 2.2 MB of heap, with this size 0.12 MB; reading a long list is
	// only a fifth slower.
	connBufferBytes = 16 << 10
	// readBufferBytes is gRPC's read buffer of a connection on the server's side. Its
	// default is twice as large.
	readBufferBytes = 16 << 10
	// minPingInterval is the shortest keepalive interval that clients may use. It is
	// etcd's default. With gRPC's default of 5 minutes, the server would close the
	// connections of clients like the API server's, which ping every 30 s.
	minPingInterval = 5 * time.Second

	// drainTimeout is how long Close waits for calls. Watches do not end by themselves.
	drainTimeout = 50 * time.Millisecond
	// stopTimeout limits the wait for a member that has failed, because its goroutines
	// may be deadlocked.
	stopTimeout = 2 * time.Second
)

// member is an embedded etcd server and its in-memory listener.
type member struct {
	lifetime   *lifetime
	etcd       *embed.Etcd
	rpc        *grpc.Server
	watches    *memberWatches // nil until serve
	listener   *bufconn.Listener
	guard      *spaceGuard
	files      *fileLimit
	closing    chan struct{}
	goroutines sync.WaitGroup
	stopWatch  func() // ends the spaceWatch and waits for it

	snapshotRoom *snapshotRoom
}

func startMember(ctx context.Context, cfg Config, l *lifetime) (_ *member, err error) {
	m := &member{lifetime: l, files: newFileLimit(cfg), listener: bufconn.Listen(connBufferBytes), closing: make(chan struct{}), snapshotRoom: newSnapshotRoom(cfg.Dir)}
	created, found, err := m.prepareFiles(ctx, cfg)
	stopped := true
	defer func() {
		if err == nil || created == "" || !stopped {
			return
		}
		if rerr := os.RemoveAll(created); rerr != nil {
			err = fmt.Errorf("%w (the new files could not be removed: %w)", err, rerr)
		}
	}()
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	release, err := acquireStartSlot(ctx)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	defer release()
	segmentSize.acquire()
	defer func() {
		if err != nil && stopped {
			segmentSize.release()
		}
	}()
	if stopped, err = m.openEtcd(ctx, cfg); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	err = m.waitReady(ctx, found)
	if err == nil && created != "" && !cfg.NoSync {
		err = syncNames(cfg.Dir)
	}
	if err != nil {
		l.end(err) // bounds the wait in close: a disk that hangs cannot be interrupted
		stopped = m.close()
		return nil, fmt.Errorf("start: %w", err)
	}
	m.watchSpace(cfg)
	m.serve()
	return m, nil
}

// prepareFiles checks the data folder, which it creates if it is missing, and removes what a member has left that
// never began. created is what is new, to be removed if the start fails, also if prepareFiles does.
func (m *member) prepareFiles(ctx context.Context, cfg Config) (created string, found raftIndexes, err error) {
	if created, err = prepareDir(cfg.Dir, cfg.OtherDisk); err != nil {
		return created, found, err
	}
	if err = m.files.check(); err != nil {
		return created, found, err
	}
	if found, err = inspectFiles(ctx, cfg.Dir); err != nil {
		return created, found, err
	}
	if cfg.HoldsData && (found.neverBegan || found == raftIndexes{}) {
		return created, found, damageError(cfg.Dir, fmt.Errorf("%s holds no data, although a member has written there", cfg.Dir))
	}
	if !found.neverBegan {
		return created, found, nil
	}
	created = filepath.Join(cfg.Dir, "member")
	if err = os.RemoveAll(created); err != nil {
		return created, found, withAdvice(cfg.Dir, err)
	}
	return created, raftIndexes{}, nil
}

// syncNames makes the names of a new member's files and folders survive a crash of the machine,
// as far as etcd does not: it syncs what they contain, and the folder of its log.
func syncNames(dir string) error {
	for _, folder := range []string{filepath.Dir(dbFile(dir)), dir, filepath.Dir(dir)} {
		if err := durable.SyncDir(folder); err != nil {
			return withAdvice(dir, err)
		}
	}
	return nil
}

func (m *member) watchSpace(cfg Config) {
	m.guard = newSpaceGuard(cfg, m.files, m.etcd.Server.Backend().ForceCommit)
	ctx, cancel := context.WithCancel(m.lifetime)
	var watch sync.WaitGroup
	watch.Go(func() { m.newSpaceWatch(cfg).run(ctx) })
	m.stopWatch = func() { cancel(); watch.Wait() }
}

// storeSize is the revision of a store and the size of its file in bytes.
type storeSize struct{ revision, bytes int64 }

func (m *member) storeSize() (storeSize, error) {
	return storeSize{m.etcd.Server.KV().Rev(), m.etcd.Server.Backend().Size()}, nil
}

// openEtcd starts etcd in a goroutine of its own, because a fatal error ends the
// goroutine in which it occurs. It reports whether an etcd that has failed has stopped.
func (m *member) openEtcd(ctx context.Context, cfg Config) (stopped bool, err error) {
	lg := m.snapshotRoom.watchLogger(m.lifetime.guardLogger(cfg.zapLogger(), cfg.Dir))
	settings, err := newEmbedConfig(cfg, m.files.quota, lg)
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
		// Reading a truncated file in a memory map is a fault, not an error.
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
		go func() { // it cannot be interrupted, so close it when it has started
			<-opened
			if m.etcd != nil {
				m.etcd.Close()
			}
			segmentSize.release()
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

// startError returns why a start cannot continue, or nil.
func (m *member) startError(ctx context.Context) error {
	if err := m.lifetime.failure(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return stoppedWaitingError(ctx)
	}
	return nil
}

func stoppedWaitingError(ctx context.Context) error {
	return fmt.Errorf("stopped waiting for it to become ready: %w", context.Cause(ctx))
}

// serve serves clients.
func (m *member) serve() {
	m.watches = newMemberWatches(m.etcd.Server)
	m.rpc = v3rpc.Server(m.etcd.Server, nil, nil,
		grpc.WaitForHandlers(true),
		grpc.ReadBufferSize(readBufferBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPingInterval}),
	)
	m.goroutines.Go(func() {
		// ErrServerStopped means that it was closed before it began to serve.
		if err := m.rpc.Serve(m.listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			m.lifetime.end(fmt.Errorf("serve: %w", err))
		}
	})
	m.goroutines.Go(m.watchStop)
}

// watchStop ends the lifetime when the member stops without a call of Close.
func (m *member) watchStop() {
	select {
	case <-m.closing:
		return
	case <-m.etcd.Server.StopNotify():
	}
	select {
	case <-m.closing: // both had happened
	default:
		m.lifetime.end(errors.New("the member stopped unexpectedly: see the log"))
	}
}

func (m *member) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := m.listener.DialContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("etcd: dial the embedded member: %w", err)
	}
	return conn, nil
}

// close stops the member and reports whether it has stopped. Only a member that has
// failed may not stop.
func (m *member) close() bool {
	stopped := make(chan struct{})
	go func() { // a fatal error ends this goroutine, not the caller's
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

// stop closes the connections and the watches of clients first, so that nothing uses a closed store.
func (m *member) stop() {
	close(m.closing)
	if m.stopWatch != nil {
		m.stopWatch()
	}
	if m.rpc != nil {
		cut := time.AfterFunc(drainTimeout, m.rpc.Stop)
		m.rpc.GracefulStop()
		cut.Stop()
		m.watches.stop()
	}
	m.etcd.Close()
	m.goroutines.Wait()
}

// waitStopped waits for ended, but not longer than stopTimeout.
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
