package loopback

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// writer is the server's end of a response. Memory is bounded by what
// the client leaves unread, as with a socket: see maxUnread.
type writer struct {
	ctx    context.Context
	header http.Header
	sent   chan struct{} // closed when the header is final

	mu      sync.Mutex
	changed *sync.Cond
	code    int
	final   http.Header
	buf     bytes.Buffer
	done    bool
	err     error
}

// maxUnread is how many bytes a response may run ahead of its reader; HTTP/2
// as Go's client speaks it gives a stream 4 MiB.
const maxUnread = 4 << 20

func newWriter(ctx context.Context) *writer {
	w := &writer{ctx: ctx, header: http.Header{}, sent: make(chan struct{})}
	w.changed = sync.NewCond(&w.mu)
	// A reader or a writer that waits must see that the request is over.
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changed.Broadcast()
	})
	return w
}

func (w *writer) Header() http.Header { return w.header }

func (w *writer) WriteHeader(code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeaderLocked(code)
}

func (w *writer) writeHeaderLocked(code int) {
	if w.code != 0 || code < 200 {
		return
	}
	w.code, w.final = code, w.header.Clone()
	close(w.sent)
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeaderLocked(http.StatusOK)
	for w.buf.Len() > maxUnread && w.ctx.Err() == nil {
		w.changed.Wait()
	}
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	n, err := w.buf.Write(p)
	w.changed.Broadcast()
	return n, err
}

// Flush is there for handlers that stream; what is written is readable at once.
func (w *writer) Flush() { w.WriteHeader(http.StatusOK) }

// CloseNotify is what upstream's wrappers look for before they pass Flush on.
func (w *writer) CloseNotify() <-chan bool {
	gone := make(chan bool, 1)
	context.AfterFunc(w.ctx, func() { gone <- true })
	return gone
}

func (w *writer) abort(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	if w.code == 0 {
		w.code = -1
		close(w.sent)
	}
}

// finish is called when the handler has returned. If the request was over by
// then, what was written may not be all.
func (w *writer) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeaderLocked(http.StatusOK)
	if w.err == nil && w.ctx.Err() != nil {
		w.err = context.Cause(w.ctx)
	}
	w.done = true
	w.changed.Broadcast()
}

func (w *writer) response(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.code < 0 {
		return nil, w.err
	}
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", w.code, http.StatusText(w.code)),
		StatusCode:    w.code,
		Proto:         "HTTP/2.0",
		ProtoMajor:    2,
		Header:        w.final,
		ContentLength: -1,
		Request:       req,
	}, nil
}

// body is the client's end of a response.
type body struct {
	w      *writer
	cancel context.CancelFunc
}

func (b *body) Read(p []byte) (int, error) {
	w := b.w
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.buf.Len() == 0 && !w.done && w.ctx.Err() == nil {
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
	if w.done {
		return 0, io.EOF
	}
	return 0, context.Cause(w.ctx)
}

// Close ends the request, as closing a connection would.
func (b *body) Close() error {
	b.cancel()
	return nil
}
