package etcd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An embedded member is reached in memory only: it opens no socket.
func TestOpensNoSocket(t *testing.T) {
	before := countSockets(t)
	c := dialEmbedded(t, startServer(t, Config{Dir: t.TempDir(), NoSync: true}))
	putKey(t, c, "k", "v")
	if after := countSockets(t); after > before {
		t.Errorf("%d sockets are open while it serves, %d before", after, before)
	}
}

func countSockets(t *testing.T) (n int) {
	t.Helper()
	fds, err := filepath.Glob("/proc/self/fd/*")
	must(t, err)
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
