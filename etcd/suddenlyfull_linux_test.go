package etcd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// resizeTmpfs changes the size of a tmpfs at once; 0 = to what is used.
func resizeTmpfs(t *testing.T, dir string, bytes uint64) {
	t.Helper()
	await(t, "another size of the disk", func() bool {
		size := bytes
		if size == 0 {
			var st syscall.Statfs_t
			must(t, syscall.Statfs(dir, &st))
			size = (st.Blocks - st.Bfree) * uint64(st.Bsize)
		}
		err := syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", size))
		if err != nil && !errors.Is(err, syscall.EINVAL) { // more is used by now
			t.Fatal(err)
		}
		return err == nil
	})
}

// A server survives that its disk, which had plenty of room, is full from one moment to
// the next while clients write.
func TestSuddenlyFullDiskRefusesWrites(t *testing.T) {
	const size, writers, rounds = 512 << 20, 16, 6
	disk := os.Getenv(dirEnv)
	if os.Getenv(roleEnv) == "" {
		runSandboxed(t, "disk", t.TempDir())
		return
	}
	mountTmpfs(t, disk, fmt.Sprintf("size=%d", size), 0)
	s := startServer(t, Config{Dir: filepath.Join(disk, "data"), RefusedWrite: refusedForTest})
	c, err := s.Client()
	must(t, err)
	defer c.Close()
	var acked [writers]int
	for range rounds {
		var written atomic.Int64
		var running sync.WaitGroup
		for w := range acked {
			running.Go(func() { acked[w] += writeUntilRefused(t, c, fmt.Sprintf("k%d-", w), acked[w], &written) })
		}
		await(t, "writes", func() bool { return written.Load() > 200 })
		resizeTmpfs(t, disk, 0)
		running.Wait()
		must(t, s.Err())
		getKey(t, c, "k0-0")
		resizeTmpfs(t, disk, size)
		await(t, "a write", func() bool {
			_, err := c.Put(testContext(t), "new", "v")
			return err == nil
		})
	}
	for w, n := range acked {
		for i := range n {
			getKey(t, c, fmt.Sprintf("k%d-%d", w, i))
		}
	}
	t.Logf("%v acknowledged", acked)
}

// Etcd writes a snapshot of raft after some thousand writes, also while the disk is full.
func TestSnapshotOnFullDisk(t *testing.T) {
	const size = 512 << 20
	disk := os.Getenv(dirEnv)
	if os.Getenv(roleEnv) == "" {
		runSandboxed(t, "disk", t.TempDir())
		return
	}
	mountTmpfs(t, disk, fmt.Sprintf("size=%d", size), 0)
	cfg := Config{Dir: filepath.Join(disk, "data"), NoSync: true, RefusedWrite: refusedForTest}
	s := startServer(t, cfg)
	c, err := s.Client()
	must(t, err)
	defer c.Close()
	raft := s.member.etcd.Server
	written := 0
	for ; raft.AppliedIndex() < snapshotEntries-10; written++ {
		putKey(t, c, fmt.Sprintf("k%d", written), "v")
	}
	room := newSnapshotRoom(cfg.Dir).path
	await(t, "the room for a snapshot", func() bool { return fileutil.Exist(room) })
	if n := snapshots(t, cfg.Dir); n > 0 {
		t.Fatalf("%d snapshots before the disk is full", n)
	}
	resizeTmpfs(t, disk, 0)
	for range 20 { // as writes that were admitted before
		_, err := raft.Put(testContext(t), &pb.PutRequest{Key: []byte("late"), Value: []byte("v")})
		must(t, errors.Join(err, s.Err()))
	}
	await(t, "a snapshot", func() bool { return snapshots(t, cfg.Dir) == 1 })
	if _, err := c.Put(testContext(t), "k", "v"); !errors.Is(err, errRefused) {
		t.Errorf("write: got %v, want that it is refused", err)
	}
	resizeTmpfs(t, disk, size)
	await(t, "a write", func() bool {
		_, err := c.Put(testContext(t), "new", "v")
		return err == nil
	})
	await(t, "the room for the next snapshot", func() bool { return fileutil.Exist(room) })
	closeServer(t, s)
	r, err := dialEmbedded(t, startServer(t, cfg)).Get(testContext(t), "k", clientv3.WithPrefix(), clientv3.WithCountOnly())
	must(t, err)
	if r.Count != int64(written) {
		t.Errorf("%d keys, want %d", r.Count, written)
	}
}

func snapshots(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "member", "snap", "*.snap"))
	must(t, err)
	return len(files)
}

// writeUntilRefused creates keys with numbers from first on, and returns how many.
func writeUntilRefused(t *testing.T, c *clientv3.Client, prefix string, first int, written *atomic.Int64) (acked int) {
	for {
		_, err := c.Put(testContext(t), fmt.Sprint(prefix, first+acked), strings.Repeat("v", 8<<10))
		if errors.Is(err, errRefused) {
			return acked
		}
		if err != nil {
			t.Errorf("%s: %v", prefix, err)
			return acked
		}
		acked++
		written.Add(1)
	}
}
