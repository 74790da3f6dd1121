package web

import (
	"net/http"
	"time"
)

const (
	// writeTimeout is how long a client may accept nothing of an answer before it is disconnected. A
	// browser opens the stream of a page again.
	writeTimeout = 20 * time.Second
	// writeChunk is written within writeTimeout: a large answer may take longer on a slow network.
	writeChunk = 64 << 10
)

// limitWriteTime ends connections that accept nothing of an answer: anyone who can connect could
// hold them open otherwise, and with a session also what a handler has in use. The server has no limit for
// whole answers: the stream of a page has no end.
func (s *Server) limitWriteTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		out := &timedWriter{w, http.NewResponseController(w), s.writeTimeout}
		out.endLimit()         // that of the request before
		defer out.beginLimit() // net/http writes what is left when the handler has returned
		next.ServeHTTP(out, req)
	})
}

// timedWriter limits each write. The time between writes is not limited: a handler may wait.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (t *timedWriter) Write(data []byte) (n int, err error) {
	defer t.endLimit()
	for err == nil && len(data) > 0 {
		t.beginLimit()
		var written int
		written, err = t.ResponseWriter.Write(data[:min(len(data), writeChunk)])
		n, data = n+written, data[written:]
	}
	return n, err
}

// FlushError is what http.ResponseController calls.
func (t *timedWriter) FlushError() error {
	defer t.endLimit()
	t.beginLimit()
	return t.control.Flush()
}

// Unwrap lets http.ResponseController set the read deadline.
func (t *timedWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// Setting a deadline fails only without a connection, on which a write fails, too.
func (t *timedWriter) beginLimit() { _ = t.control.SetWriteDeadline(time.Now().Add(t.timeout)) }
func (t *timedWriter) endLimit()   { _ = t.control.SetWriteDeadline(time.Time{}) }
