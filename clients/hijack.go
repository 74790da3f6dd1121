package clients

import (
	"bufio"
	"net"
	"net/http"
	"strconv"
	"sync"
)

// hijackable is a response on a connection that can be taken over.
type hijackable struct {
	flushable
	http.Hijacker
	request *request
}

// Hijack takes over the connection. The answer, if there was none, is in what is written to it: the proxy of
// an aggregated API passes on a refusal of the backend in this way, too.
func (h hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := h.Hijacker.Hijack()
	if err != nil {
		return conn, rw, err
	}
	r := h.request
	r.hijacked = &hijackedConn{Conn: conn, answered: r.answerHijacked}
	if r.isSwitching {
		r.hijacked.end()
		r.answerHijacked(http.StatusSwitchingProtocols)
	}
	rw.Writer.Reset(r.hijacked)
	return r.hijacked, rw, nil
}

// answerHijacked records the request: the rest of it is not HTTP.
func (r *request) answerHijacked(status int) {
	r.status = status
	if r.watch != nil && status == http.StatusSwitchingProtocols {
		r.watch.setUnreadable()
		r.openWatch()
	}
	r.record()
}

// hijackedConn is a connection that was taken over.
type hijackedConn struct {
	net.Conn
	answered func(status int) // called once

	mu    sync.Mutex
	start []byte // of what was written
	ended bool   // what is written is not looked at any more
}

// answerStart is the part of an answer that has its status.
const answerStart = "HTTP/1.1 101"

// Write implements net.Conn.
func (c *hijackedConn) Write(p []byte) (int, error) {
	c.noteStatus(p)
	return c.Conn.Write(p)
}

func (c *hijackedConn) noteStatus(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.start = append(c.start, p[:min(len(p), len(answerStart)-len(c.start))]...)
	if len(c.start) < len(answerStart) {
		return
	}
	c.ended = true
	version, status := string(c.start[:8]), string(c.start[9:])
	if _, _, ok := http.ParseHTTPVersion(version); !ok {
		return
	}
	if n, err := strconv.Atoi(status); err == nil {
		c.answered(n)
	}
}

// end is called when the handler has returned. c may be nil.
func (c *hijackedConn) end() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
}
