package etcd

import (
	"context"
	"fmt"
	"net"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/proxy/grpcproxy/adapter"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// leaseKeepAliveTimeout is that of etcd's own client of a server in the same process.
const leaseKeepAliveTimeout = time.Second

// withClient calls do with a client of the store. The context of do also ends when the
// store ends, because a client would wait for the store forever.
func (s *Server) withClient(ctx context.Context, do func(context.Context, *clientv3.Client) error) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.lifetime, func() { cancel(s.lifetime.failure()) })()
	c, err := s.newClient(nil)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := c.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("etcd: client: %w", closeErr)
		}
	}()
	if err = do(ctx, c); err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

// Client returns a new client of the store. A client of an embedded member reads,
// writes and watches by function calls. It connects only if the connection itself is
// used. Its writes fail with Config.RefusedWrite while space is missing for them.
func (s *Server) Client() (*clientv3.Client, error) {
	if s.member == nil {
		return s.newClient(nil)
	}
	return s.newClient(s.member.guard)
}

// newClient returns a client whose writes pass a guard; nil = none.
func (s *Server) newClient(guard *spaceGuard) (*clientv3.Client, error) {
	cfg := clientv3.Config{Endpoints: s.endpoints, Logger: zap.NewNop()}
	if s.member == nil {
		return s.newClusterClient(cfg)
	}
	cfg.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		return s.member.dial(ctx, "tcp", addr)
	})}
	c, err := clientv3.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("etcd: client: %w", err)
	}
	srv := s.member.etcd.Server
	calls := memberCalls{s.lifetime, guard}
	keys := adapter.KvServerToKvClient(v3rpc.NewQuotaKVServer(srv))
	c.KV = clientv3.NewKVFromKVClient(memberKV{keys, calls}, c)
	leases := adapter.LeaseServerToLeaseClient(v3rpc.NewQuotaLeaseServer(srv))
	c.Lease = clientv3.NewLeaseFromLeaseClient(memberLease{leases, calls}, c, leaseKeepAliveTimeout)
	maintenance := adapter.MaintenanceServerToMaintenanceClient(v3rpc.NewMaintenanceServer(srv, nil))
	c.Maintenance = clientv3.NewMaintenanceFromMaintenanceClient(memberMaintenance{maintenance, calls}, c)
	c.Watcher = clientv3.NewWatchFromWatchClient(queueingWatchClient{s.member.watches.client()}, c)
	return c, nil
}

func (s *Server) newClusterClient(cfg clientv3.Config) (*clientv3.Client, error) {
	cfg.DialTimeout = s.cfg.dialTimeout
	urls, err := parseEndpoints(s.endpoints)
	if err != nil {
		return nil, err
	}
	if cfg.TLS, err = loadTLS(s.cfg, urls[0].Scheme); err != nil {
		return nil, err
	}
	return clientv3.New(cfg)
}
