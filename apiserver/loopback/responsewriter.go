package loopback

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// responseWriter is the server's end of a response. It buffers at most
// maxUnreadBytes and one write.
type responseWriter struct {
	ctx        context.Context // the handler's
	caller     context.Context
	header     http.Header
	headerSent chan struct{} // closed when the header is final

	mu         sync.Mutex
	changed    *sync.Cond
	status     int
	sentHeader http.Header
	buf        bytes.Buffer
	finished   bool
	err        error
}

// maxUnreadBytes is how many bytes of a response may be unread before its writer
// blocks. Go's HTTP/2 client grants a stream as many.
const maxUnreadBytes = 4 << 20

func newResponseWriter(ctx, caller context.Context) *responseWriter {
	w := &responseWriter{ctx: ctx, caller: caller, header: http.Header{}, headerSent: make(chan struct{})}
	w.changed = sync.NewCond(&w.mu)
	// Wakes a reader or a writer that waits when the request ends.
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changed.Broadcast()
	})
	return w
}

func (w *responseWriter) Header() http.Header { return w.header }

func (w *responseWriter) WriteHeader(code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeaderLocked(code)
}

func (w *responseWriter) writeHeaderLocked(code int) {
	if w.status != 0 || code < 200 {
		return
	}
	w.status, w.sentHeader = code, w.header.Clone()
	close(w.headerSent)
}

func (w *responseWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeaderLocked(http.StatusOK)
	for w.buf.Len() > maxUnreadBytes && w.ctx.Err() == nil {
		w.changed.Wait()
	}
	if w.ctx.Err() != nil {
		return 0, w.cause()
	}
	n, err := w.buf.Write(p)
	w.changed.Broadcast()
	return n, err
}

// Flush sends the header. What is written can be read at once.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }

// CloseNotify is required by upstream's wrappers of response writers: they pass
// Flush on only if it exists.
func (w *responseWriter) CloseNotify() <-chan bool {
	gone := make(chan bool, 1)
	context.AfterFunc(w.ctx, func() { gone <- true })
	return gone
}

// cause returns why the request ended. The handler's context does not know the
// cause that the caller's was canceled with.
func (w *responseWriter) cause() error {
	if err := context.Cause(w.caller); err != nil {
		return err
	}
	return context.Cause(w.ctx)
}

func (w *responseWriter) abort(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	if w.status == 0 {
		w.status = -1
		close(w.headerSent)
	}
}

// finish is called when the handler has returned. If the request had ended by then,
// the response may be incomplete, so reading it ends with an error.
func (w *responseWriter) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeaderLocked(http.StatusOK)
	if w.err == nil && w.ctx.Err() != nil {
		w.err = w.cause()
	}
	w.finished = true
	w.changed.Broadcast()
}

func (w *responseWriter) newResponse(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.status < 0 {
		return nil, w.err
	}
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		StatusCode:    w.status,
		Proto:         "HTTP/2.0",
		ProtoMajor:    2,
		Header:        w.sentHeader,
		ContentLength: -1,
		Request:       req,
	}, nil
}

// responseBody is the client's end of a response.
type responseBody struct {
	w      *responseWriter
	cancel context.CancelFunc
}

func (b *responseBody) Read(p []byte) (int, error) {
	w := b.w
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.buf.Len() == 0 && !w.finished && w.ctx.Err() == nil {
		w.changed.Wait()
	}
	if w.buf.Len() > 0 {
		n, err := w.buf.Read(p)
		w.changed.Broadcast()
		return n, err
	}
	if w.err != nil {
		return 0, w.err
	}
	if w.finished {
		return 0, io.EOF
	}
	return 0, w.cause()
}

// Peek calls read with the first bytes of the response, or with all of it if it is shorter.
// The body still reads from the start. read must not keep the bytes.
func (b *responseBody) Peek(limit int, read func(prefix []byte)) {
	w := b.w
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.buf.Len() < limit && !w.finished && w.ctx.Err() == nil {
		w.changed.Wait()
	}
	read(w.buf.Bytes()[:min(limit, w.buf.Len())])
}

// Close cancels the handler's context, as closing a connection would.
func (b *responseBody) Close() error {
	b.cancel()
	return nil
}
