package etcd

import (
	"context"
	"fmt"
	"net"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// withClient calls do with a client of the store. The context that do gets ends
// with the store, too: a client would wait for it for ever.
func (s *Server) withClient(ctx context.Context, do func(context.Context, *clientv3.Client) error) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(s.life.fault()) })()
	c, err := s.client()
	if err != nil {
		return fmt.Errorf("etcd: client: %w", err)
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

func (s *Server) client() (*clientv3.Client, error) {
	cfg := clientv3.Config{Endpoints: s.endpoints, Logger: zap.NewNop()}
	if s.member != nil {
		cfg.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return s.member.dial(ctx, "tcp", addr)
		})}
		return clientv3.New(cfg)
	}
	cfg.DialTimeout = s.cfg.DialTimeout
	urls, err := parseEndpoints(s.endpoints)
	if err != nil {
		return nil, err
	}
	if cfg.TLS, err = loadTLS(s.cfg, urls[0].Scheme); err != nil {
		return nil, err
	}
	return clientv3.New(cfg)
}
