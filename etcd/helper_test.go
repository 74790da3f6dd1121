package etcd

import (
	"context"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// testTimeout limits each wait of a test, also for a sequence of many writes. It is far longer
// than any of them takes.
const testTimeout = 2 * time.Minute

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

func startServer(t testing.TB, cfg Config) *Server {
	t.Helper()
	s, err := Start(testContext(t), cfg)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() { closeServer(t, s) })
	return s
}

func closeServer(t testing.TB, s *Server) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// abandonedDir is a folder for a server that does not close its files: Windows does not remove
// those.
func abandonedDir(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "windows" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("", "abandoned-") //nolint:usetesting // t.TempDir fails where open files cannot be removed
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// dialEmbedded returns a client with a connection to an embedded member.
func dialEmbedded(t testing.TB, s *Server) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{
		Endpoints: s.endpoints,
		Logger:    zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return s.member.dial(ctx, "tcp", addr)
		})},
	})
	if err != nil {
		t.Fatalf("client: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close client: %v", err)
		}
	})
	return c
}

func putKey(t testing.TB, c *clientv3.Client, key, value string) int64 {
	t.Helper()
	r, err := c.Put(testContext(t), key, value)
	if err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
	return r.Header.Revision
}

func getKey(t testing.TB, c *clientv3.Client, key string) (value string, revision int64) {
	t.Helper()
	r, err := c.Get(testContext(t), key)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	if len(r.Kvs) == 0 {
		t.Fatalf("get %s: not found", key)
	}
	return string(r.Kvs[0].Value), r.Kvs[0].ModRevision
}
