package etcd

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// Close waits for the step with which the watch of the space makes room.
func TestWatchOfSpaceIsWaitedFor(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), NoSync: true}
	s := startServer(t, cfg)
	s.member.stopWatch()
	w := s.member.newSpaceWatch(cfg)
	w.quota = 1 // the database is full: the watch has it write
	ctx, cancel := context.WithCancel(t.Context())
	tx := s.member.etcd.Server.Backend().BatchTx()
	tx.Lock()
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		w.look(ctx)
	}()
	await(t, "writing", func() bool {
		var stacks strings.Builder
		must(t, pprof.Lookup("goroutine").WriteTo(&stacks, 1))
		return strings.Contains(stacks.String(), "commitFreePages")
	})
	cancel()
	var released atomic.Bool
	time.AfterFunc(50*time.Millisecond, func() { // if this is late, the test proves nothing, but does not fail
		released.Store(true)
		tx.Unlock()
	})
	<-looked
	if !released.Load() {
		t.Error("the watch has ended while its step still runs")
	}
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
