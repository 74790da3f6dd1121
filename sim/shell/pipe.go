package shell

import (
	"context"
	"sync"
	"syscall"
)

// pipeSize is how much a pipe holds.
const pipeSize = 64 << 10

// pipe connects two processes.
type pipe struct {
	m                        *machine // that counts what it holds; nil if a client fills it
	mu                       sync.Mutex
	changed                  sync.Cond
	data                     []byte
	readClosed, writerClosed bool
}

// pipeReader and pipeWriter are the ends of a pipe.
type (
	pipeReader struct{ *pipe }
	pipeWriter struct{ *pipe }
)

func newPipe(m *machine) *pipe {
	p := &pipe{m: m}
	p.changed.L = &p.mu
	return p
}

// wait waits for a change of the pipe, which must be locked.
func (pp *pipe) wait(p *proc) {
	stop := context.AfterFunc(p.ctx, func() {
		pp.mu.Lock()
		defer pp.mu.Unlock()
		pp.changed.Broadcast()
	})
	defer stop()
	pp.changed.Wait()
}

// remove removes the first bytes of a pipe, which must be locked.
func (pp *pipe) remove(n int) {
	if pp.data = pp.data[n:]; len(pp.data) == 0 {
		pp.data = nil
	}
	if pp.m != nil {
		pp.m.count(-n)
	}
}

func (r pipeReader) read(p *proc, b []byte) (n int, err error) {
	r.mu.Lock()
	if len(r.data) == 0 && !r.writerClosed {
		r.mu.Unlock()
		if r.m == nil { // from outside of the command
			p.noteWait()
		}
		p.idle(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			for len(r.data) == 0 && !r.writerClosed && p.ctx.Err() == nil && !p.timedOut() {
				r.wait(p)
			}
		})
		r.mu.Lock()
	}
	defer r.mu.Unlock()
	n = copy(b, r.data)
	r.remove(n)
	r.changed.Broadcast()
	return n, nil
}

func (r pipeReader) write(*proc, []byte) (int, error) { return 0, syscall.EBADF }

func (r pipeReader) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readClosed = true
	r.remove(len(r.data))
	r.changed.Broadcast()
}

func (w pipeWriter) write(p *proc, b []byte) (written int, err error) {
	for len(b) > 0 {
		n, full, closed := w.put(b)
		if closed {
			return written, syscall.EPIPE
		}
		written += n
		b = b[n:]
		if w.m != nil {
			p.hold(n)
		}
		if full {
			p.idle(func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				for len(w.data) >= pipeSize && !w.readClosed && p.ctx.Err() == nil {
					w.wait(p)
				}
			})
		}
	}
	return written, nil
}

func (w pipeWriter) put(b []byte) (n int, full, closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.readClosed {
		return 0, false, true
	}
	n = min(len(b), pipeSize-len(w.data))
	w.data = append(w.data, b[:n]...)
	w.changed.Broadcast()
	return n, n < len(b), false
}

func (w pipeWriter) read(*proc, []byte) (int, error) { return 0, syscall.EBADF }

func (w pipeWriter) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writerClosed = true
	w.changed.Broadcast()
}

func (pp *pipe) awaitSpace() {
	pp.mu.Lock()
	defer pp.mu.Unlock()
	for len(pp.data) >= pipeSize && !pp.readClosed {
		pp.changed.Wait()
	}
}
