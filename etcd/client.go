package etcd

import (
	"context"
	"fmt"
	"net"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Client returns a new client of an embedded member. What it reads, writes and
// watches are calls of functions: its connection is there for what asks for one,
// and is not made before.
func (s *Server) Client() (*clientv3.Client, error) {
	c, err := clientv3.New(clientv3.Config{
		Endpoints: s.Endpoints(),
		Logger:    zap.NewNop(),
		DialOptions: []grpc.DialOption{
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return s.member.dial(ctx, "tcp", addr) }),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("etcd: client: %w", err)
	}
	direct := v3client.New(s.member.etcd.Server)
	c.KV, c.Watcher, c.Lease, c.Maintenance = direct.KV, direct.Watcher, direct.Lease, direct.Maintenance
	return c, nil
}
