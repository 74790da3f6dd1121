package web

import (
	"net/http"
	"time"
)

// bodyTimeout is how long a request may take to arrive once its header has. The server
// has no limit for whole requests: the stream of a page has no end.
const bodyTimeout = 10 * time.Second

// limitBodyTime ends connections whose request bodies do not arrive in time, also those
// that no handler reads: anyone who can connect could hold them open otherwise. Once a body
// has arrived, net/http removes the deadline: the handler may take longer.
func limitBodyTime(next http.Handler, timeout time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeout)) // fails without a connection
		}
		next.ServeHTTP(w, req)
	})
}
