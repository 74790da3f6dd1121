//go:build unix

package etcd

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// limited is a limit of file sizes for Config.fileSizeLimit.
func limited(bytes int64) func() (int64, bool) { return func() (int64, bool) { return bytes, true } }

func TestStartNeedsALimitOfFileSizesWithRoom(t *testing.T) {
	_, err := Start(testContext(t), Config{Dir: t.TempDir(), NoSync: true, fileSizeLimit: limited(minFileBytes - 1)})
	if err == nil || !strings.Contains(err.Error(), "the files of this process may have 63 MiB, and etcd needs 64 MiB: raise the limit of file sizes (ulimit -f) and start again") {
		t.Errorf("got %v", err)
	}
	dir := newFilledDir(t, 1)
	must(t, os.Truncate(dbFile(dir), 100<<20))
	_, err = Start(testContext(t), Config{Dir: dir, NoSync: true, fileSizeLimit: limited(minFileBytes)})
	if err == nil || !strings.Contains(err.Error(), "may have 64 MiB, and etcd needs 100 MiB") {
		t.Errorf("got %v", err)
	}
}

// A limit that is lowered later refuses all writes when a file could meet it.
func TestLoweredLimitOfFileSizesRefusesWrites(t *testing.T) {
	limit := int64(1 << 40)
	cfg := Config{fileSizeLimit: func() (int64, bool) { return limit, true }, freeBytes: func() (uint64, bool) { return 1 << 40, true }}
	files := newFileLimit(cfg)
	must(t, files.check())
	g := newSpaceGuard(cfg, files, func() {})
	for bytes, refused := range map[int64]bool{minFileBytes: false, minFileBytes - 1: true, 1 << 40: false} {
		limit = bytes
		g.remeasureDisk()
		g.measureDisk()
		if reason := g.diskLow.Load(); (reason != nil) != refused || refused && !strings.Contains(*reason, "may have 63 MiB, and etcd needs 64 MiB: raise the limit") {
			t.Errorf("limit of %d bytes: got %v", bytes, reason)
		}
	}
}

// Under the limit of ulimit -f the database is full before a file meets the limit.
func TestLimitOfFileSizesIsADatabaseThatIsFull(t *testing.T) {
	dir := os.Getenv(dirEnv)
	if os.Getenv(roleEnv) == "" {
		runChild(t, childCommand(t, "limited", t.TempDir()))
		return
	}
	must(t, syscall.Setrlimit(unix.RLIMIT_FSIZE, &syscall.Rlimit{Cur: minFileBytes, Max: minFileBytes}))
	s := startServer(t, Config{Dir: dir, NoSync: true, RefusedWrite: refusedForTest})
	c, err := s.Client()
	must(t, err)
	defer c.Close()
	var created [4]int
	value := strings.Repeat("v", 64<<10)
	var writers sync.WaitGroup
	for w := range created {
		writers.Go(func() {
			err := create(t, c, fmt.Sprintf("k%d-0", w), value)
			for ; err == nil; err = create(t, c, fmt.Sprintf("k%d-%d", w, created[w]), value) {
				created[w]++
			}
			if !errors.Is(err, errRefused) {
				t.Errorf("writer %d: %v", w, err)
			}
		})
	}
	writers.Wait()
	must(t, s.Err())
	for w, n := range created {
		for i := range n {
			getKey(t, c, fmt.Sprintf("k%d-%d", w, i))
			if i%4 == 0 {
				continue
			}
			await(t, "a deletion", func() bool {
				_, err := c.Delete(testContext(t), fmt.Sprintf("k%d-%d", w, i))
				return err == nil
			})
		}
	}
	await(t, "a new object", func() bool { return create(t, c, "new", value) == nil })
	t.Logf("%v created", created)
}
