package etcd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestServesReadsWritesAndWatches(t *testing.T) {
	s := startServer(t, Config{Dir: filepath.Join(t.TempDir(), "new", "data")})
	c := dialEmbedded(t, s)
	watch := c.Watch(testContext(t), "k", clientv3.WithCreatedNotify())
	if r := <-watch; !r.Created {
		t.Fatalf("first answer of the watch: %+v, want created", r)
	}
	rev := putKey(t, c, "k", "v")
	if v, mod := getKey(t, c, "k"); v != "v" || mod != rev {
		t.Errorf("get = %q at revision %d, want \"v\" at %d", v, mod, rev)
	}
	r := <-watch
	if len(r.Events) != 1 || string(r.Events[0].Kv.Value) != "v" {
		t.Errorf("watched %+v, want the one put", r)
	}
	// The API server reads the version of each endpoint.
	if _, err := c.Status(testContext(t), s.endpoints[0]); err != nil {
		t.Errorf("Status of endpoint %s: %v", s.endpoints[0], err)
	}
	if err := s.Err(); err != nil {
		t.Errorf("Err while running: %v", err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no file modes")
	}
	dir := filepath.Join(t.TempDir(), "data")
	startServer(t, Config{Dir: dir, NoSync: true})
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, want no access for others", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRestartKeepsDataAndRevision(t *testing.T) {
	for _, noSync := range []bool{false, true} {
		t.Run(fmt.Sprintf("NoSync=%v", noSync), func(t *testing.T) {
			dir := t.TempDir()
			var last int64
			for round := range 3 {
				s := startServer(t, Config{Dir: dir, NoSync: noSync})
				c := dialEmbedded(t, s)
				if round > 0 {
					if v, rev := getKey(t, c, "k"); v != fmt.Sprint(round-1) || rev != last {
						t.Errorf("round %d: got %q at revision %d, want %d at %d", round, v, rev, round-1, last)
					}
				}
				rev := putKey(t, c, "k", fmt.Sprint(round))
				if round > 0 && rev != last+1 {
					t.Errorf("round %d: revision %d follows %d", round, rev, last)
				}
				last = rev
				closeServer(t, s)
			}
		})
	}
}

// After a child process is killed, every write that it has acknowledged exists.
func TestKillKeepsAcknowledgedWrites(t *testing.T) {
	if os.Getenv(roleEnv) != "" {
		s := startServer(t, Config{Dir: os.Getenv(dirEnv)})
		c := dialEmbedded(t, s)
		for i := 0; ; i++ {
			putKey(t, c, fmt.Sprintf("k%d", i), "v")
			fmt.Println(ackedLine)
		}
	}
	dir := t.TempDir()
	for round := range 2 {
		cmd := childCommand(t, "victim", dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		n := 0
		for in := bufio.NewScanner(out); n < 100 && in.Scan(); {
			if in.Text() == ackedLine {
				n++
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Error("the child succeeded, want it killed")
		}
		if n < 100 {
			t.Fatalf("the child acknowledged %d writes, want 100", n)
		}
		s := startServer(t, Config{Dir: dir})
		c := dialEmbedded(t, s)
		for i := range n {
			getKey(t, c, fmt.Sprintf("k%d", i))
		}
		putKey(t, c, "round", fmt.Sprint(round))
		closeServer(t, s)
	}
}

func TestCloseWithOpenWatch(t *testing.T) {
	s := startServer(t, Config{Dir: t.TempDir()})
	c := dialEmbedded(t, s)
	watch := c.Watch(testContext(t), "k", clientv3.WithCreatedNotify())
	<-watch
	rev := putKey(t, c, "k", "v")
	if r := <-watch; r.Header.Revision != rev {
		t.Errorf("watched revision %d, want %d", r.Header.Revision, rev)
	}
	select {
	case <-s.Done():
		t.Fatal("Done is closed before Close")
	default:
	}

	began := time.Now()
	var closers sync.WaitGroup
	for range 3 {
		closers.Go(func() { closeServer(t, s) })
	}
	closers.Wait()
	t.Logf("Close took %v with a watch open", time.Since(began))

	select {
	case <-s.Done():
	default:
		t.Error("Done is open after Close")
	}
	if err := s.Err(); err != nil {
		t.Errorf("Err after Close: %v", err)
	}
	if conn, err := s.member.dial(testContext(t), "tcp", ""); err == nil {
		t.Errorf("dialed %v after Close", conn.RemoteAddr())
	}
}

func TestStartRespectsContext(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	for name, ctx := range map[string]context.Context{"canceled": canceled, "late": late} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			s, err := Start(ctx, Config{Dir: dir})
			if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Start = %v, %v, want the context's error", s, err)
			}
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the folder that Start created still exists (%v)", err)
			}
		})
	}
}

func TestCloseLeavesNothingRunning(t *testing.T) {
	// TestMain fails if a goroutine remains.
	dir := t.TempDir()
	for range 5 {
		closeServer(t, startServer(t, Config{Dir: dir}))
	}
}
