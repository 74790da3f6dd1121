package web

import (
	"io"
	"net/http"
	"time"
)

// bodyTimeout is how long a request may take to arrive once its header has. The server
// has no limit for whole requests: the stream of a page has no end.
const bodyTimeout = 10 * time.Second

// limitBodyTime ends connections whose request bodies do not arrive in time, also those
// that no handler reads: anyone who can connect could hold them open otherwise.
func limitBodyTime(next http.Handler, timeout time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		control := http.NewResponseController(w)
		if req.ContentLength != 0 && control.SetReadDeadline(time.Now().Add(timeout)) == nil {
			req.Body = &timedBody{req.Body, control}
		}
		next.ServeHTTP(w, req)
	})
}

// timedBody is a request body with a deadline, which ends with the body: the handler may
// take longer.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.control.SetReadDeadline(time.Time{}) // as it was set, it can be
	}
	return n, err
}
