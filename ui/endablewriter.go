package ui

import (
	"bytes"
	"context"
	"io"
	"time"
)

// unreadTimeout is how long an output that accepts nothing may keep a program from ending.
const unreadTimeout = 2 * time.Second

// endableWriter is what NewEndableWriter returns.
type endableWriter struct {
	ctx    context.Context
	w      io.Writer
	onLoss func()

	writing chan struct{} // full while a write waits
	lost    bool          // for the one that writes
}

// NewEndableWriter returns a writer to an output that may never accept anything, such as a
// pipe that is not read. A write waits for the output until ctx has ended, and at most 2 s from
// then on. After that the output is lost: everything is dropped and no write fails, so that the
// program ends as usual. onLoss, if it is not nil, is called once, when the output is lost. The
// writer is safe for concurrent use.
func NewEndableWriter(ctx context.Context, w io.Writer, onLoss func()) io.Writer {
	return &endableWriter{ctx: ctx, w: w, onLoss: onLoss, writing: make(chan struct{}, 1)}
}

// Write implements io.Writer. A write to an output that is lost may still continue in the
// background.
func (e *endableWriter) Write(p []byte) (int, error) {
	e.writing <- struct{}{}
	defer func() { <-e.writing }()
	if e.lost {
		return len(p), nil
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	data := bytes.Clone(p) // p belongs to the caller again after the return
	go func() {
		n, err := e.w.Write(data)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-e.ctx.Done():
	}
	limit := time.NewTimer(unreadTimeout)
	defer limit.Stop()
	select {
	case r := <-done:
		return r.n, r.err
	case <-limit.C:
	}
	e.lost = true
	if e.onLoss != nil {
		e.onLoss()
	}
	return len(p), nil
}
