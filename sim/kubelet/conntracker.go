package kubelet

import (
	"bufio"
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
		t.forget(c)
	}
}

// forget needs the lock.
func (t *connTracker) forget(c net.Conn) {
	if t.open[c] {
		delete(t.open, c)
		t.running.Done()
	}
}

// trackHijacked makes a connection that handler hijacks count as open until handler
// returns: net/http forgets it.
func (t *connTracker) trackHijacked(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := &hijackRecorder{ResponseWriter: w}
		defer func() {
			if !recorder.hijacked {
				return
			}
			c := r.Context().Value(connKey{}).(net.Conn)
			c.(*tls.Conn).NetConn().Close()
			t.mu.Lock()
			defer t.mu.Unlock()
			t.forget(c)
		}()
		handler.ServeHTTP(recorder, r)
	})
}

// hijackRecorder remembers whether its connection may have been hijacked.
type hijackRecorder struct {
	http.ResponseWriter
	hijacked bool
}

// Unwrap is for http.ResponseController.
func (w *hijackRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w *hijackRecorder) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

// Hijack implements http.Hijacker.
func (w *hijackRecorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.hijacked = true // even if it fails: a connection may have been hijacked before, or in part
	return w.ResponseWriter.(http.Hijacker).Hijack()
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
