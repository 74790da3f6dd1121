package learn

import (
	"context"
	"io"
)

// input reads where nobody may be typing: a read that is given up goes on in the
// background, and the next one gets what it brings. Nothing is read in between,
// so that commands may read the same terminal.
type input struct {
	r        io.Reader
	requests chan struct{}
	chunks   chan chunk
	pending  bool   // a read is under way
	unread   []byte // of what was read
	err      error
}

type chunk struct {
	data []byte
	err  error
}

func newInput(r io.Reader) *input {
	in := &input{r: r, requests: make(chan struct{}), chunks: make(chan chunk, 1)}
	go func() {
		for range in.requests {
			buf := make([]byte, 4096)
			n, err := r.Read(buf)
			in.chunks <- chunk{buf[:n], err}
		}
	}()
	return in
}

// close lets go of the reader once the read that is under way has ended.
func (in *input) close() { close(in.requests) }

// read returns what there is, or the cause of ctx' end.
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
