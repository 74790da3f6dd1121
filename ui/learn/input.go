package learn

import (
	"context"
	"io"
)

// input makes reads cancelable: a canceled read continues in the background, and the
// next one gets its data. Nothing is read between two reads, so that commands can read
// the same terminal.
type input struct {
	r        io.Reader
	requests chan struct{}
	chunks   chan chunk
	pending  bool   // a read is in progress
	unread   []byte // data that read has not returned yet
	err      error
}

type chunk struct {
	data []byte
	err  error
}

func newInput(r io.Reader) *input {
	in := &input{r: r, requests: make(chan struct{}), chunks: make(chan chunk, 1)}
	go func() { // ends after close and the current read, which cannot be interrupted
		for range in.requests {
			buf := make([]byte, 4096)
			n, err := r.Read(buf)
			in.chunks <- chunk{buf[:n], err}
		}
	}()
	return in
}

// close ends the goroutine after the current read.
func (in *input) close() { close(in.requests) }

// read returns available data, or the cause of the end of ctx.
func (in *input) read(ctx context.Context, p []byte) (int, error) {
	if len(in.unread) == 0 {
		if in.err != nil {
			return 0, in.err
		}
		if !in.pending {
			in.requests <- struct{}{}
			in.pending = true
		}
		select {
		case c := <-in.chunks:
			in.pending, in.unread, in.err = false, c.data, c.err
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		if len(in.unread) == 0 {
			return 0, in.err
		}
	}
	n := copy(p, in.unread)
	in.unread = in.unread[n:]
	return n, nil
}
