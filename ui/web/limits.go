package web

import (
	"errors"
	"net"
	"strings"
	"sync"
)

// What one viewer may use at the same time, by session and by address: whoever has the link
// of a class can begin many sessions.
const (
	maxSessionStreams, maxAddressStreams = 24, 48
	maxSessionTraces, maxAddressTraces   = 1, 4
)

// limits counts what is in use.
type limits struct {
	mu   sync.Mutex
	used map[string]int
}

// limit is a name under which uses are counted, and how many are allowed.
type limit struct {
	name string
	most int
}

func newLimits() *limits { return &limits{used: map[string]int{}} }

// viewerLimits returns the limits of a session, and of an address of another machine.
func viewerLimits(session, address string, bySession, byAddress int) []limit {
	list := []limit{{session, bySession}}
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		kind := "stream"
		if strings.HasPrefix(session, "trace ") {
			kind = "trace"
		}
		list = append(list, limit{kind + " of " + host, byAddress})
	}
	return list
}

// take takes one of each if all limits allow it; release gives it back.
func (l *limits) take(list ...limit) (release func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, of := range list {
		if l.used[of.name] >= of.most {
			return nil, false
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
	}, true
}

// takeTrace takes what a trace needs, or says what it has to wait for.
func (l *limits) takeTrace(session, address string) (release func(), err error) {
	list := viewerLimits("trace "+session, address, maxSessionTraces, maxAddressTraces)
	own, ok := l.take(list[:1]...)
	if !ok {
		return nil, errors.New("a trace of this page is being made: wait for it")
	}
	shared, ok := l.take(list[1:]...)
	if !ok {
		own()
		return nil, errors.New("a trace for another page at your address is being made: try again")
	}
	return func() { shared(); own() }, nil
}
