package learn

import (
	"context"
	"io"
)

// input reads where nobody may be typing: a read that is given up goes on in the
// background, and the next one gets what it brings. Nothing is read in between,
// so that commands may read the same terminal.
type input struct {
	r    io.Reader
	ask  chan struct{}
	got  chan chunk
	open bool   // a read is under way
	left []byte // of what was read
	err  error
}

type chunk struct {
	data []byte
	err  error
}

func newInput(r io.Reader) *input {
	in := &input{r: r, ask: make(chan struct{}), got: make(chan chunk, 1)}
	go func() {
		for range in.ask {
			buf := make([]byte, 4096)
			n, err := r.Read(buf)
			in.got <- chunk{buf[:n], err}
		}
	}()
	return in
}

// close lets go of the reader once the read that is under way has ended.
func (in *input) close() { close(in.ask) }

// read returns what there is, or the cause of ctx' end.
func (in *input) read(ctx context.Context, p []byte) (int, error) {
	if len(in.left) == 0 {
		if in.err != nil {
			return 0, in.err
		}
		if !in.open {
			in.ask <- struct{}{}
			in.open = true
		}
		select {
		case c := <-in.got:
			in.open, in.left, in.err = false, c.data, c.err
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		if len(in.left) == 0 {
			return 0, in.err
		}
	}
	n := copy(p, in.left)
	in.left = in.left[n:]
	return n, nil
}
