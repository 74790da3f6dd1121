package web

import (
	"context"
	"errors"
	"net"
	"sync"
)

// What one viewer may use at the same time, by session and by address: whoever has the link
// of a class can begin many sessions.
const (
	maxSessionStreams, maxAddressStreams = 24, 48
	maxSessionTraces, maxAddressTraces   = 1, 4
	maxSessionRequests                   = 8 // for traces, with those that wait for their turn
)

// limits counts what is in use.
type limits struct {
	mu    sync.Mutex
	used  map[string]int
	freed chan struct{} // is closed and replaced when something is given back
}

// limit is a name under which uses are counted, and how many are allowed.
type limit struct {
	name string
	most int
}

func newLimits() *limits { return &limits{used: map[string]int{}, freed: make(chan struct{})} }

// usageKind is what the uses of a viewer are counted for.
type usageKind struct {
	name                 string
	bySession, byAddress int
}

var (
	streamUsage = usageKind{"stream", maxSessionStreams, maxAddressStreams}
	traceUsage  = usageKind{"trace", maxSessionTraces, maxAddressTraces}
)

// limits returns the limits of a session, and of an address of another machine.
func (k usageKind) limits(session, address string) []limit {
	list := []limit{{k.name + " of session " + session, k.bySession}}
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		list = append(list, limit{k.name + " of " + host, k.byAddress})
	}
	return list
}

// take takes one of each if all limits allow it; release gives it back.
func (l *limits) take(list ...limit) (release func(), ok bool) {
	release, _ = l.try(list)
	return release, release != nil
}

// await is take that waits until the limits allow it or ctx ends.
func (l *limits) await(ctx context.Context, list ...limit) (release func(), err error) {
	for {
		release, freed := l.try(list)
		if release != nil {
			return release, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// try is take, or returns a channel that is closed when it may be possible.
func (l *limits) try(list []limit) (release func(), freed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, of := range list {
		if l.used[of.name] >= of.most {
			return nil, l.freed
		}
	}
	for _, of := range list {
		l.used[of.name]++
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, of := range list {
			if l.used[of.name]--; l.used[of.name] == 0 {
				delete(l.used, of.name)
			}
		}
		close(l.freed)
		l.freed = make(chan struct{})
	}, nil
}

// takeTrace takes what a trace needs, once it is its turn: a page that does not want its last one any more asks for
// another one before that has ended.
func (l *limits) takeTrace(ctx context.Context, session, address string) (release func(), err error) {
	request, ok := l.take(limit{"requests of " + session, maxSessionRequests})
	if !ok {
		return nil, errors.New("too many traces for this page are being made: try again")
	}
	trace, err := l.await(ctx, traceUsage.limits(session, address)...)
	if err != nil {
		request()
		return nil, err
	}
	return func() { trace(); request() }, nil
}
