package etcd

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
)

// Calls that follow each other have one goroutine; synctest fails if one is left at the end.
func TestCallPoolKeepsGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var pool callPool
		calls := 0
		for range 3 {
			pool.run(ctx, func() { calls++ })
			synctest.Wait()
		}
		if calls != 3 || len(pool.idle) != 1 {
			t.Errorf("%d calls, %d goroutines are kept, want 3 and 1", calls, len(pool.idle))
		}
		cancel()
		synctest.Wait()
	})
}

// Calls do not wait for one another, and few goroutines are kept after many calls.
func TestCallPoolKeepsFewGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var pool callPool
		begun, end := make(chan struct{}), make(chan struct{})
		const calls = 2 * maxIdleCallers
		for range calls {
			pool.run(ctx, func() { begun <- struct{}{}; <-end })
		}
		for range calls {
			<-begun
		}
		close(end)
		synctest.Wait()
		if len(pool.idle) != maxIdleCallers {
			t.Errorf("%d goroutines are kept, want %d", len(pool.idle), maxIdleCallers)
		}
	})
}

// A fatal error of etcd ends the goroutine of a call. Later calls have another one.
func TestCallPoolLosesGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var pool callPool
		pool.run(ctx, runtime.Goexit)
		synctest.Wait()
		if len(pool.idle) != 0 {
			t.Errorf("%d goroutines are kept", len(pool.idle))
		}
		called := false
		pool.run(ctx, func() { called = true })
		synctest.Wait()
		if !called {
			t.Error("the next call was not made")
		}
	})
}
