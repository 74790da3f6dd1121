package shell

import (
	"io"
	"sync"
	"syscall"
	"time"
)

// outerWriter writes to what the caller of Run gave.
type outerWriter struct {
	mu *sync.Mutex // of all that write to the same
	w  io.Writer
}

func (o outerWriter) read(*proc, []byte) (int, error) { return 0, syscall.EBADF }

func (o outerWriter) write(p *proc, b []byte) (int, error) {
	if o.w == nil {
		return len(b), nil
	}
	p.pause(p.m.output.take(float64(len(b)), time.Now()))
	n, err := 0, error(nil)
	p.idle(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		n, err = o.w.Write(b)
	})
	if err != nil {
		err = syscall.EPIPE
	}
	return n, err
}

func (o outerWriter) close() {}

// outerReader reads what the caller of Run gave. A goroutine reads ahead, as a
// read cannot be interrupted; it starts with the first read.
type outerReader struct {
	r     io.Reader
	start *sync.Once
	pipe  *pipe
}

func newOuterReader(r io.Reader) outerReader {
	return outerReader{r: r, start: &sync.Once{}, pipe: newPipe(nil)}
}

func (o outerReader) read(p *proc, b []byte) (int, error) {
	if o.r == nil {
		return 0, nil
	}
	o.start.Do(func() { go o.pump() })
	return pipeReader{o.pipe}.read(p, b)
}

// pump moves the input into the pipe, until its end or until the reader has gone.
func (o outerReader) pump() {
	defer pipeWriter{o.pipe}.close()
	buf := make([]byte, 4<<10)
	for {
		n, err := o.r.Read(buf)
		for rest := buf[:n]; len(rest) > 0; {
			put, full, closed := pipeWriter{o.pipe}.put(rest)
			if closed {
				return
			}
			rest = rest[put:]
			if full {
				o.pipe.awaitSpace()
			}
		}
		if err != nil {
			return
		}
	}
}

func (o outerReader) write(*proc, []byte) (int, error) { return 0, syscall.EBADF }

func (o outerReader) close() { pipeReader{o.pipe}.close() }
