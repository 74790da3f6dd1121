package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// runSandboxed runs a child that may mount file systems.
func runSandboxed(t *testing.T, role, dir string) {
	t.Helper()
	cmd := childCommand(t, role, dir)
	testutil.Sandbox(t, cmd, 0)
	runChild(t, cmd)
}

func mountTmpfs(t *testing.T, dir, options string, flags uintptr) {
	t.Helper()
	must(t, syscall.Mount("none", dir, "tmpfs", flags, options))
}

// A server whose disk becomes full refuses writes and serves reads, whatever the number
// of writers. It goes on when there is space again.
func TestDiskFullRefusesWrites(t *testing.T) {
	disk := os.Getenv(dirEnv)
	if os.Getenv(roleEnv) == "" {
		runSandboxed(t, "disk", t.TempDir())
		return
	}
	ballast := filepath.Join(disk, "ballast")
	mountTmpfs(t, disk, "size=256m", 0)
	must(t, os.WriteFile(ballast, make([]byte, 128<<20), 0o600))
	reports := &spaceReports{}
	s := startServer(t, Config{Dir: filepath.Join(disk, "data"), RefusedWrite: refusedForTest, OnSpace: reports.add})
	c, err := s.Client()
	must(t, err)
	defer c.Close()
	var acked [16]int
	var writers sync.WaitGroup
	for w := range acked {
		writers.Go(func() {
			for err := error(nil); err == nil; acked[w]++ {
				if _, err = c.Put(testContext(t), fmt.Sprintf("k%d-%d", w, acked[w]), strings.Repeat("v", 1<<20)); err != nil {
					acked[w]--
					if !errors.Is(err, errRefused) {
						t.Errorf("writer %d: %v", w, err)
					}
				}
			}
		})
	}
	writers.Wait()
	await(t, "a report", func() bool { return reports.contain("all writes are refused: the disk of " + s.cfg.Dir) })
	must(t, s.Err())
	for w, n := range acked {
		for i := range n {
			getKey(t, c, fmt.Sprintf("k%d-%d", w, i))
		}
	}
	must(t, os.Remove(ballast))
	await(t, "a write", func() bool {
		_, err := c.Put(testContext(t), "new", "v")
		return err == nil
	})
	t.Logf("%v acknowledged", acked)
}

// A server that cannot write although the disk had space fails. After space is freed it starts again with
// every write that was acknowledged.
func TestDiskFullKeepsAcknowledgedWrites(t *testing.T) {
	disk := os.Getenv(dirEnv)
	dir := filepath.Join(disk, "data")
	ballast := filepath.Join(disk, "ballast")
	switch os.Getenv(roleEnv) {
	case "":
		runSandboxed(t, "disk", t.TempDir())

	case "disk":
		// Without the ballast there is enough space to replay the log.
		mountTmpfs(t, disk, "size=160m", 0)
		must(t, os.WriteFile(ballast, make([]byte, 80<<20), 0o600))
		writes := runChild(t, childCommand(t, "writer", disk))
		if writes == 0 {
			t.Fatal("the writer has written nothing")
		}
		wantStartError(t, dir, "MiB free", "free space and start again")
		wantStartError(t, filepath.Join(disk, "new"), "MiB free", "free space and start again")

		must(t, os.Remove(ballast))
		c := dialEmbedded(t, startServer(t, Config{Dir: dir}))
		for i := range writes {
			getKey(t, c, fmt.Sprintf("k%d", i))
		}
		putKey(t, c, "new", "v")

	case "writer":
		s, err := Start(testContext(t), Config{Dir: dir})
		must(t, err)
		c := dialEmbedded(t, s)
		ctx, cancel := context.WithCancel(testContext(t))
		go func() { <-s.Done(); cancel() }()
		for i := 0; ; i++ {
			if _, err := c.Put(ctx, fmt.Sprintf("k%d", i), strings.Repeat("v", 1<<20)); err != nil {
				break
			}
			fmt.Println(ackedLine)
		}
		<-s.Done()
		for _, err := range []error{s.Err(), s.Close()} {
			t.Log(err)
			if !errors.Is(err, syscall.ENOSPC) || !strings.HasSuffix(err.Error(), "free space on the disk of "+dir+" and start again") {
				t.Errorf("error %v does not say that the disk is full and what to do", err)
			}
		}
	}
}

func TestReadOnlyDiskIsReported(t *testing.T) {
	disk := os.Getenv(dirEnv)
	if os.Getenv(roleEnv) == "" {
		runSandboxed(t, "disk", t.TempDir())
		return
	}
	mountTmpfs(t, disk, "", syscall.MS_RDONLY)
	wantStartError(t, disk, "read-only file system", "make "+disk+" writable")
	folder := filepath.Join(disk, "new")
	wantStartError(t, folder, "read-only file system", "make "+folder+" writable")
}

// Start returns fatal errors that the checks before it do not find, in the goroutine
// that opens the files and in others. They leave goroutines, so each has its own
// process.
func TestFatalErrorWhileOpening(t *testing.T) {
	dir := os.Getenv(dirEnv)
	switch os.Getenv(roleEnv) {
	case "":
		for _, role := range []string{"value", "pipe"} {
			t.Run(role, func(t *testing.T) { runChild(t, childCommand(t, role, newFilledDir(t, 10))) })
		}
	case "value":
		rev := mvcc.RevToBytes(mvcc.Revision{Main: 2}, mvcc.NewRevBytes())
		putInDB(t, dir, schema.Key.Name(), rev, []byte("not a message"))
		wantStartError(t, dir, "failed to unmarshal mvccpb.KeyValue", "see the log")
	case "pipe":
		must(t, os.Remove(dbFile(dir)))
		must(t, syscall.Mkfifo(dbFile(dir), 0o600))
		wantStartError(t, dir, "failed to open database", "see the log")
	}
}
