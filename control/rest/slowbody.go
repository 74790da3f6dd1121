package rest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// maxBodyPause is how long the body of a request may make no progress. A snapshot is long and may arrive slowly.
const maxBodyPause = 30 * time.Second

// stalledBodyError is the error of a body that has made no progress for that long.
type stalledBodyError time.Duration

func (e stalledBodyError) Error() string {
	return fmt.Sprintf("it has made no progress for %s: send the request again", time.Duration(e))
}

// limitUnreadBodies ends connections whose bodies do not arrive and that no handler reads, as those of an unknown path: net/http
// reads what is left of them before it answers.
func limitUnreadBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if hasBody(req) {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(maxBodyPause)) // fails without a connection
		}
		next.ServeHTTP(w, req)
	})
}

// hasBody reports whether a request has a body. Without one a deadline would end the request itself: net/http reads from its
// connection to notice when the client disconnects.
func hasBody(req *http.Request) bool { return req.ContentLength != 0 }

// limitBodyTime ends the body of a request that makes no progress, or that has not arrived when the time of the request is over;
// timeout 0 = it has no limit.
func limitBodyTime(w http.ResponseWriter, req *http.Request, timeout time.Duration) {
	if hasBody(req) {
		req.Body = &slowBody{ReadCloser: req.Body, connection: http.NewResponseController(w), began: time.Now(), timeout: timeout}
	}
}

// slowBody is a body whose reads have a deadline. Once all of it has arrived, net/http removes the deadline.
type slowBody struct {
	io.ReadCloser
	connection *http.ResponseController
	began      time.Time
	timeout    time.Duration
	ended      bool
}

// Read implements io.Reader.
func (b *slowBody) Read(p []byte) (int, error) {
	pause, ends := maxBodyPause, error(stalledBodyError(maxBodyPause))
	if left := b.timeout - time.Since(b.began); b.timeout > 0 && left < pause {
		pause, ends = left, timeoutError(b.timeout)
	}
	if !b.ended { // otherwise the deadline would end the request
		_ = b.connection.SetReadDeadline(time.Now().Add(pause)) // fails without a connection
	}
	n, err := b.ReadCloser.Read(p)
	b.ended = err != nil
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ends
	}
	return n, err
}
