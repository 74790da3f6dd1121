package kubelet

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// connTracker knows the open connections of an http.Server, whose Close does not
// wait for their goroutines.
type connTracker struct {
	mu      sync.Mutex
	open    map[net.Conn]bool
	running sync.WaitGroup
}

// connState is an http.Server.ConnState. net/http calls it with StateNew from Serve,
// and with StateClosed at the end of the connection's goroutine.
func (t *connTracker) connState(c net.Conn, state http.ConnState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch state {
	case http.StateNew:
		if t.open == nil {
			t.open = map[net.Conn]bool{}
		}
		t.open[c] = true
		t.running.Add(1)
	case http.StateClosed:
		delete(t.open, c)
		t.running.Done()
	}
}

// wait closes the connections that are still open and returns when their goroutines
// have ended. It does not close the TLS layer: that sends an alert, which waits up
// to 5 s for a client that does not read. Call it after Serve has returned.
func (t *connTracker) wait() {
	t.mu.Lock()
	for c := range t.open {
		c.(*tls.Conn).NetConn().Close()
	}
	t.mu.Unlock()
	t.running.Wait()
}
