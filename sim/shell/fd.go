package shell

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"path"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// file is what a descriptor refers to. A read of 0 bytes means the end.
type file interface {
	read(p *proc, b []byte) (int, error)
	write(p *proc, b []byte) (int, error)
	close()
}

// ofile is an open file that descriptors share.
type ofile struct {
	file
	refs atomic.Int32
}

// fds are the descriptors of a process.
type fds [10]*ofile

// newFile counts a file as open and returns it with one reference.
func (m *machine) newFile(f file) *ofile {
	m.files.Add(1)
	o := &ofile{file: f}
	o.refs.Store(1)
	return o
}

// mayOpen checks that n more files may be opened.
func (m *machine) mayOpen(n int64) error {
	if m.files.Load()+n > int64(m.lim.OpenFiles) {
		return syscall.EMFILE
	}
	return nil
}

func (o *ofile) dup() *ofile {
	if o != nil {
		o.refs.Add(1)
	}
	return o
}

func (o *ofile) release(m *machine) {
	if o != nil && o.refs.Add(-1) == 0 {
		m.files.Add(-1)
		o.close()
	}
}

// dup returns a copy for another process.
func (f *fds) dup() (c fds) {
	for i, o := range f {
		c[i] = o.dup()
	}
	return c
}

// set makes a descriptor refer to a file.
func (f *fds) set(m *machine, fd int, o *ofile) {
	f[fd].release(m)
	f[fd] = o
}

func (f *fds) closeAll(m *machine) {
	for i := range f {
		f.set(m, i, nil)
	}
}

// stream reads and writes a descriptor of a process.
type stream struct {
	p  *proc
	fd int
}

// Read implements [io.Reader].
func (s stream) Read(b []byte) (int, error) {
	o := s.p.fds[s.fd]
	if o == nil {
		return 0, syscall.EBADF
	}
	if len(b) == 0 {
		return 0, nil
	}
	n, err := o.read(s.p, b)
	s.p.step(1 + n/256)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write implements [io.Writer]. A closed pipe ends the process, as SIGPIPE does.
func (s stream) Write(b []byte) (int, error) {
	o := s.p.fds[s.fd]
	if o == nil {
		return 0, syscall.EBADF
	}
	s.p.step(1 + len(b)/256)
	n, err := o.write(s.p, b)
	if errors.Is(err, syscall.EPIPE) {
		panic(abort{128 + int(syscall.SIGPIPE)})
	}
	return n, err
}

// abs returns a path as seen from the working directory. It counts the work of
// resolving it.
func (p *proc) abs(name string) string {
	p.step(1 + (len(name)+len(p.dir))/16)
	if name == "" || name[0] == '/' {
		return name
	}
	return p.dir + "/" + name
}

// clean is abs without dots.
func (p *proc) clean(name string) string { return path.Clean(p.abs(name)) }

// open opens a file of the container or a device.
func (p *proc) open(name string, flags int, perm fs.FileMode) (*ofile, error) {
	p.step(4)
	if err := p.m.mayOpen(1); err != nil {
		return nil, err
	}
	h, err := p.m.fs.open(p.cred, p.abs(name), flags, perm)
	if err != nil {
		return nil, err
	}
	if h.node.mode&fs.ModeDevice == 0 {
		return p.m.newFile((*fileHandle)(h)), nil
	}
	h.close()
	switch h.node.target {
	case "init-stdout", "init-stderr":
		first := p.m.table.find(1)
		if first == nil {
			return nil, syscall.ENXIO
		}
		if h.node.target == "init-stdout" {
			return p.m.newFile(first.m.out), nil
		}
		return p.m.newFile(first.m.errOut), nil
	case "stdin", "stdout", "stderr":
		o := p.fds[map[string]int{"stdin": 0, "stdout": 1, "stderr": 2}[h.node.target]]
		if o == nil {
			return nil, syscall.ENXIO
		}
		return o.dup(), nil
	case "tty":
		if p.m.tty == nil {
			return nil, syscall.ENXIO
		}
		return p.m.newFile(p.m.tty), nil
	}
	return p.m.newFile(device(h.node.target)), nil
}

// fileHandle is a file of the container.
type fileHandle handle

func (h *fileHandle) read(_ *proc, b []byte) (int, error)  { return (*handle)(h).readSome(b) }
func (h *fileHandle) write(_ *proc, b []byte) (int, error) { return (*handle)(h).writeAll(b) }
func (h *fileHandle) close()                               { (*handle)(h).close() }

// device is a file of /dev, by name.
type device string

func (d device) read(_ *proc, b []byte) (int, error) {
	switch d {
	case "zero", "full":
		clear(b)
		return len(b), nil
	case "random", "urandom":
		return rand.Read(b)
	}
	return 0, nil
}

func (d device) write(_ *proc, b []byte) (int, error) {
	if d == "full" {
		return 0, syscall.ENOSPC
	}
	return len(b), nil
}

func (device) close() {}

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

func (r pipeReader) read(p *proc, b []byte) (n int, err error) {
	r.mu.Lock()
	if len(r.data) == 0 && !r.writerClosed {
		r.mu.Unlock()
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

// remove removes the first bytes of a pipe, which must be locked.
func (pp *pipe) remove(n int) {
	if pp.data = pp.data[n:]; len(pp.data) == 0 {
		pp.data = nil
	}
	if pp.m != nil {
		pp.m.count(-n)
	}
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

// textFile is a here-document or the output of a command substitution.
type textFile struct{ data []byte }

func (t *textFile) read(_ *proc, b []byte) (int, error) {
	n := copy(b, t.data)
	t.data = t.data[n:]
	return n, nil
}

func (t *textFile) write(*proc, []byte) (int, error) { return 0, syscall.EBADF }
func (t *textFile) close()                           {}

// capture collects the output of a command substitution, of which background
// jobs may keep a reference.
type capture struct {
	mu   sync.Mutex
	data []byte
	over bool
}

func (c *capture) read(*proc, []byte) (int, error) { return 0, syscall.EBADF }

func (c *capture) write(p *proc, b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return len(b), nil
	}
	p.hold(len(b))
	c.data = append(c.data, b...)
	return len(b), nil
}

func (c *capture) close() {}

// take returns what was collected; later output is dropped.
func (c *capture) take() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	return c.data
}

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

func (pp *pipe) awaitSpace() {
	pp.mu.Lock()
	defer pp.mu.Unlock()
	for len(pp.data) >= pipeSize && !pp.readClosed {
		pp.changed.Wait()
	}
}

func (o outerReader) write(*proc, []byte) (int, error) { return 0, syscall.EBADF }

func (o outerReader) close() { pipeReader{o.pipe}.close() }
