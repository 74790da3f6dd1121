package etcd

import (
	"context"
	"runtime/pprof"
	"sync"
)

// maxIdleCallers is how many goroutines are kept: more calls than that are hardly ever
// made at the same time.
const maxIdleCallers = 32

// callPool runs calls in goroutines that it keeps. The stack of a new goroutine would
// have to grow several times during each call. The zero value is ready to use.
type callPool struct {
	mu   sync.Mutex
	idle []chan<- func() // the last is the one that was used last
}

// run starts a call in a goroutine, which ends with ctx once the call has returned. If the
// call ends its goroutine, the pool does not notice.
func (p *callPool) run(ctx context.Context, call func()) {
	p.mu.Lock()
	var next chan<- func()
	if last := len(p.idle) - 1; last >= 0 {
		next, p.idle = p.idle[last], p.idle[:last]
	}
	p.mu.Unlock()
	if next == nil {
		go p.serve(ctx, call)
		return
	}
	next <- call // there is room
}

func (p *callPool) serve(ctx context.Context, call func()) {
	pprof.SetGoroutineLabels(context.Background()) // it serves others than the one that has started it
	next := make(chan func(), 1)
	for {
		call()
		if !p.keep(next) {
			return
		}
		select {
		case call = <-next:
		case <-ctx.Done():
			return
		}
	}
}

// keep makes a goroutine available for the next call, unless there are enough.
func (p *callPool) keep(next chan<- func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == maxIdleCallers {
		return false
	}
	p.idle = append(p.idle, next)
	return true
}
