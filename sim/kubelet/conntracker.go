package kubelet

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// connTracker knows the open connections of an http.Server, whose Close does not
// wait for their goroutines.
type connTracker struct {
	mu       sync.Mutex
	open     map[net.Conn]bool
	hijacked map[net.Conn]bool // of those
	running  sync.WaitGroup
}

// connState is an http.Server.ConnState. net/http calls it with StateNew from Serve, with
// StateHijacked from Hijack, however the handler came by the connection, and else with
// StateClosed at the end of the connection's goroutine.
func (t *connTracker) connState(c net.Conn, state http.ConnState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch state {
	case http.StateNew:
		if t.open == nil {
			t.open, t.hijacked = map[net.Conn]bool{}, map[net.Conn]bool{}
		}
		t.open[c] = true
		t.running.Add(1)
	case http.StateHijacked:
		t.hijacked[c] = true
	case http.StateClosed:
		t.forget(c)
	}
}

// forget needs the lock.
func (t *connTracker) forget(c net.Conn) {
	if t.open[c] {
		delete(t.open, c)
		delete(t.hijacked, c)
		t.running.Done()
	}
}

// trackHijacked makes a connection that handler hijacks count as open until handler
// returns: net/http forgets it.
func (t *connTracker) trackHijacked(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			c := r.Context().Value(connKey{}).(net.Conn)
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.hijacked[c] {
				c.(*tls.Conn).NetConn().Close()
				t.forget(c)
			}
		}()
		handler.ServeHTTP(w, r)
	})
}

// wait closes the connections that are still open and returns when their goroutines
// have ended. It does not close the TLS layer: that sends an alert, which waits up
// to 5 s for a client that does not read. Call it after Serve has returned.
func (t *connTracker) wait() error {
	t.mu.Lock()
	for c := range t.open {
		c.(*tls.Conn).NetConn().Close()
	}
	t.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t.running.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-time.After(closeTimeout):
		return errConnectionsLeft
	}
}

// closeTimeout bounds the wait for connections that do not end although they are closed.
const closeTimeout = 10 * time.Second

var errConnectionsLeft = errors.New("simulated kubelets: connections have not ended 10 s after they were closed: continuing without them")
