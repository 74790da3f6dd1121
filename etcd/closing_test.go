package etcd

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Reads that meet a server being closed end with an error, also those that need no agreement:
// they can find a store that is closed already.
func TestReadsDuringClose(t *testing.T) {
	s := startServer(t, Config{Dir: t.TempDir(), NoSync: true})
	c, err := s.Client()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	putKey(t, c, "k", "v")
	var readers sync.WaitGroup
	panics := make(chan error, 8)
	for range cap(panics) {
		readers.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panics <- fmt.Errorf("a read panics: %v", p)
				}
			}()
			for {
				if _, err := c.Get(t.Context(), "k", clientv3.WithSerializable()); err != nil {
					return
				}
			}
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	readers.Wait()
	close(panics)
	for err := range panics {
		t.Error(err)
	}
	if s.CaughtUp() {
		t.Error("caught up after Close")
	}
}

// A watch in memory that has events to send when the server closes ends: the value before an event
// is in the store.
func TestWatchDuringClose(t *testing.T) {
	s := startServer(t, Config{Dir: t.TempDir(), NoSync: true})
	c, err := s.Client()
	must(t, err)
	defer c.Close()
	stream, err := s.member.watches.client().Watch(testContext(t))
	must(t, err)
	must(t, stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{
		CreateRequest: &pb.WatchCreateRequest{Key: []byte("k"), PrevKv: true},
	}}))
	if r, err := stream.Recv(); err != nil || !r.Created {
		t.Fatalf("got %v, %v", r, err)
	}
	for range 10 { // the stream has room for one
		putKey(t, c, "k", "v")
	}
	closeServer(t, s)
	for err == nil {
		_, err = stream.Recv()
	}
	late, err := s.member.watches.client().Watch(testContext(t))
	must(t, err)
	if _, err := late.Recv(); err == nil {
		t.Error("a watch of a closed server has an event")
	}
}

// Close waits for the step with which the watch of the space makes room: here it removes free
// pages, for which it measures the disk a second time.
func TestWatchOfSpaceIsWaitedFor(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), NoSync: true, quotaBytes: 1}
	running := startServer(t, cfg).member
	running.stopWatch()
	synctest.Test(t, func(t *testing.T) {
		l := newLifetime(t.Context())
		defer l.end(errClosed)
		begun, release := make(chan struct{}), make(chan struct{})
		measured := 0
		cfg := cfg
		cfg.freeBytes = func() (uint64, bool) {
			if measured++; measured == 2 {
				close(begun)
				<-release
			}
			return 0, true
		}
		m := &member{lifetime: l, etcd: running.etcd, files: running.files, snapshotRoom: running.snapshotRoom}
		m.watchSpace(cfg)
		<-begun
		stopped := false
		go func() {
			m.stopWatch()
			stopped = true
		}()
		synctest.Wait()
		if stopped {
			t.Error("the watch has ended while its step still runs")
		}
		close(release)
		synctest.Wait()
		if !stopped {
			t.Error("the watch has not ended after its step")
		}
	})
}

// What a call meets in a store that is being closed is the end of the server.
func TestPanicDuringClose(t *testing.T) {
	l := newLifetime(t.Context())
	defer l.end(errClosed)
	l.closing.Store(true)
	_, err := abandonable(l, func() (int, error) { panic("the store is closed") })
	if !errors.Is(err, errClosed) {
		t.Errorf("got %v, want %v", err, errClosed)
	}
}
