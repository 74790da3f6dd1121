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

// LimitBodies ends the bodies of requests to Path that make no progress, or have not arrived when the time of the request is over. It
// has to be in front of what may refuse a request: also before an answer to which no handler has read the body, net/http reads what
// is left of it.
func LimitBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		// Without a body a deadline would end the request: net/http reads from its connection to notice when the client disconnects.
		if req.ContentLength != 0 {
			body := &slowBody{ReadCloser: req.Body, connection: http.NewResponseController(w), began: time.Now(), timeout: maxBodyTime(req)}
			_ = body.setDeadline() // a read that exceeds it says so

			req = req.WithContext(req.Context()) // net/http looks at the body of its own
			req.Body = body
		}
		next.ServeHTTP(w, req)
	})
}

// slowBody is a body whose reads have a deadline. Once all of it has arrived, net/http removes the deadline.
type slowBody struct {
	io.ReadCloser
	connection *http.ResponseController
	began      time.Time
	timeout    time.Duration // 0 = none
	ended      bool
}

// Read implements io.Reader.
func (b *slowBody) Read(p []byte) (int, error) {
	var ends error
	if !b.ended { // otherwise the deadline would end the request
		ends = b.setDeadline()
	}
	n, err := b.ReadCloser.Read(p)
	b.ended = err != nil
	if errors.Is(err, os.ErrDeadlineExceeded) && ends != nil {
		err = ends
	}
	return n, err
}

// setDeadline sets the deadline of the next read, and returns the error that exceeding it means.
func (b *slowBody) setDeadline() error {
	pause, ends := maxBodyPause, error(stalledBodyError(maxBodyPause))
	if left := b.timeout - time.Since(b.began); b.timeout > 0 && left < pause {
		pause, ends = left, timeoutError(b.timeout)
	}
	_ = b.connection.SetReadDeadline(time.Now().Add(pause)) // fails without a connection
	return ends
}
